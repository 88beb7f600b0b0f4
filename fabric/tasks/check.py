"""Call a packaged function on this machine, and compare the response with the expected one."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Protocol

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError, Problem
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId, is_kind
from fabric.model.task_inputs import CheckInputs
from fabric.runtimes.contract import InputTrace
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs

_SHOWN = 200


class CheckedFunction(Struct, frozen=True):
    """The archives of a function: its package, and its layers with their hashes."""

    archive: bytes
    handler: str
    layers: tuple[tuple[str, bytes], ...] = ()


class CheckAnswer(Struct, frozen=True):
    """The response as JSON text, or why there is none. `hide` replaces secrets in a text."""

    hide: Callable[[str], str]
    response: str = "null"
    failure: str = ""


class CheckCaller(Protocol):
    def __call__(self, inputs: CheckInputs, function: CheckedFunction, event: str) -> CheckAnswer:
        """Call the function once, with the variables of its stage."""


class CheckKind:
    def __init__(self, caller: CheckCaller) -> None:
        self._caller = caller

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "check", "2"),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = require_inputs(task, CheckInputs)
        function = _read_function(upstream, task_tools)
        event = _read_event(inputs, task_tools.workspace)
        differences = self._call(inputs, function, event)
        if differences:
            is_flaky = not self._call(inputs, function, event)
            raise FabricError(_failed_problem(inputs, differences, is_flaky=is_flaky))
        read = (str(PurePosixPath(inputs.root, inputs.file)),) if inputs.file else ()
        return TaskResult(hash_fields(("passed", inputs.expect)), seen=InputTrace(read))

    def _call(self, inputs: CheckInputs, function: CheckedFunction, event: str) -> list[str]:
        answer = self._caller(inputs, function, event)
        if answer.failure:
            return [answer.hide(answer.failure)]
        found = find_differences(json.loads(inputs.expect), json.loads(answer.response))
        return [answer.hide(one) for one in found]


def _read_function(upstream: Mapping[TaskId, Output], task_tools: TaskTools) -> CheckedFunction:
    [(owner, package)] = [row for row in upstream.items() if is_kind(row[0], "package")]
    return CheckedFunction(
        archive=task_tools.content(owner, package.files[0]),
        handler=package.fact("handler"),
        layers=tuple(
            (output.files[0].digest, task_tools.content(one, output.files[0]))
            for one, output in upstream.items()
            if is_kind(one, "layer-archive")
        ),
    )


def _read_event(inputs: CheckInputs, workspace: Path) -> str:
    """Read the event. Its file must be inside the workspace."""
    if not inputs.file:
        return inputs.event
    path = (workspace / inputs.root / inputs.file).resolve()
    if not path.is_relative_to(workspace.resolve()):
        raise FabricError(_event_problem(inputs, "is outside of the project"))
    try:
        text = path.read_text()
        json.loads(text)
    except OSError as error:
        raise FabricError(_event_problem(inputs, "cannot be read")) from error
    except ValueError as error:
        raise FabricError(_event_problem(inputs, f"is not JSON: {error}")) from error
    return text


def _event_problem(inputs: CheckInputs, why: str) -> Problem:
    message = f"the event `{inputs.file}` of {_name_check(inputs)} {why}"
    hint = "`fabric dev --preset NAME --print` prints sample events"
    return Problem("check/bad-event", message, hint, service=inputs.service)


def _name_check(inputs: CheckInputs) -> str:
    return f"the check `{inputs.name}` of function `{inputs.function}`"


def _failed_problem(inputs: CheckInputs, differences: list[str], *, is_flaky: bool) -> Problem:
    listed = "; ".join(differences)
    if is_flaky:
        message = f"{_name_check(inputs)} failed once and then passed: {listed}"
        hint = "make the response depend on the event only, then run the command again"
        return Problem("check/flaky", message, hint, service=inputs.service)
    hint = "correct the function, or `expect` of the check"
    message = f"{_name_check(inputs)} failed: {listed}"
    return Problem("check/failed", message, hint, service=inputs.service)


def find_differences(expect: Mapping[str, Json], response: Json) -> Iterator[str]:
    """Compare a response with the expected one. Without `statusCode`, the response is the body."""
    is_http = isinstance(response, dict) and "statusCode" in response
    status = response["statusCode"] if isinstance(response, dict) and is_http else None
    body = _read_body(response) if isinstance(response, dict) and is_http else response
    if "status" in expect and status != expect["status"]:
        found = f"got {_show(status)}" if is_http else "the response has no `statusCode`"
        yield f"`status` must be {expect['status']}, {found}"
    text = body if isinstance(body, str) else json.dumps(body)
    if "body" in expect and text != expect["body"]:
        yield f"`body` must be {_show(expect['body'])}, got {_show(text)}"
    if "contains" in expect and str(expect["contains"]) not in text:
        yield f"`body` must contain {_show(expect['contains'])}, got {_show(text)}"
    if "json" in expect:
        yield from _compare_json(expect["json"], _parse(body), "json")


def _read_body(response: Mapping[str, Json]) -> Json:
    """Read the body of an HTTP response. Bytes that are text are decoded."""
    body = response.get("body")
    if not (response.get("isBase64Encoded") is True and isinstance(body, str)):
        return body
    try:
        return base64.b64decode(body).decode()
    except ValueError:
        return body


def _parse(body: Json) -> Json:
    """Parse a body that is JSON text. Other values are compared as they are."""
    if not isinstance(body, str):
        return body
    try:
        found: Json = json.loads(body)
    except ValueError:
        return body
    return found


def _compare_json(want: Json, have: Json, path: str) -> Iterator[str]:
    """Compare two values, and name the keys that differ."""
    if isinstance(want, dict) and isinstance(have, dict):
        for name in dict.fromkeys((*want, *have)):
            here = f"{path}.{name}"
            if name not in have:
                yield f"`{here}` is missing"
            elif name not in want:
                yield f"`{here}` is not expected, got {_show(have[name])}"
            else:
                yield from _compare_json(want[name], have[name], here)
    elif not _is_equal(want, have):
        yield f"`{path}` must be {_show(want)}, got {_show(have)}"


def _is_equal(want: Json, have: Json) -> bool:
    """Compare without taking `true` for 1."""
    if isinstance(want, list) and isinstance(have, list):
        return len(want) == len(have) and all(
            _is_equal(one, other) for one, other in zip(want, have, strict=True)
        )
    if isinstance(want, dict) and isinstance(have, dict):
        return want.keys() == have.keys() and all(
            _is_equal(one, have[name]) for name, one in want.items()
        )
    return want == have and isinstance(want, bool) == isinstance(have, bool)


def _show(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
