"""A deployed archive called once on this machine: a child of its own, with nothing but its own."""

import contextlib
import json
import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from fabric.model.conventions import Convention
from fabric.model.late_values import all_known
from fabric.model.problems import FabricError, Problem
from fabric.model.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs
from fabric.runtimes.archive import unpacked
from fabric.runtimes.nodejs.toolchain import find_node
from fabric.system.bounded_process import Ending, Limits, Overheard, run_bounded
from fabric.system.disk import make_folder, write_atomic
from fabric.system.memory_file import content_of, memory_file, shown_path
from fabric.system.source.entries import Refused
from fabric.system.source.names import checked_parts

_HERE = Path(__file__).parent
_QUOTED_LINES = 20
_BROUGHT = "node_modules"


class CallingProvider(Struct, frozen=True):
    """How a provider calls a function, and what it says of it; empty and 0 are unknown.

    `kinds` are those of its triggers, `path` and `schedule` the first ones of theirs; `resource` is
    its name at the provider. `is_lambda`: it has that runtime's variables and its global.
    """

    convention: Convention = Convention.EVENT
    names: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    path: str = "/"
    host: str = "localhost"
    schedule: str = ""
    memory: int = 0
    region: str = ""
    resource: str = ""
    is_lambda: bool = False


AS_EVENT = CallingProvider(names=("default",))


class Invocation(Struct, frozen=True):
    """`event` is JSON text; `handler` is `<module path in the archive>.<export>`.

    `brought` are packages that the provider's runtime has: each name with the folder that stands
    for it here. They are no part of the archive. `caller` is what the provider is to the handler.
    """

    function: str
    archive: bytes
    handler: str
    runtime: str
    event: str = "null"
    env: Secret[Pairs] = NO_PAIRS
    timeout: float = 900
    brought: Pairs = ()
    caller: CallingProvider = AS_EVENT


class Invoked(Struct, frozen=True):
    """`response` is JSON text. `logs` is all that the handler wrote, as it wrote it."""

    response: str
    logs: str
    ms: int


def invoke(call: Invocation, parent: Mapping[str, str]) -> Invoked:
    """Call the handler. Of the `parent`'s variables it sees none but PATH."""
    all_known(f"function `{call.function}`", (value for _, value in call.env.reveal()))
    program = _program(call, parent)
    with tempfile.TemporaryDirectory(prefix="fabric-invoke-") as made:
        folder = Path(made).resolve()
        said = _lay_out(call, folder)
        heard, answer = _run(program, call, (folder, said), parent)
    return _read(call, heard, answer)


def _program(call: Invocation, parent: Mapping[str, str]) -> list[str]:
    language = next((name for name in _PROGRAMS if call.runtime.startswith(name)), None)
    if language is None:
        raise FabricError(
            Problem(
                "invoke/unknown-runtime",
                f"function `{call.function}`: runtime `{call.runtime}` cannot be run here",
            )
        )
    return _PROGRAMS[language](parent)


def _node(parent: Mapping[str, str]) -> list[str]:
    return [str(find_node(parent)), str(_HERE / "nodejs" / "harness.mjs")]


def _python(parent: Mapping[str, str]) -> list[str]:  # noqa: ARG001 - fabric's own interpreter
    # Neither fabric's packages nor the user's: what is not in the archive is not there.
    return [sys.executable, "-s", "-S", "-P", str(_HERE / "python" / "harness.py")]


_PROGRAMS: dict[str, Callable[[Mapping[str, str]], list[str]]] = {
    "nodejs": _node,
    "python": _python,
}


def _lay_out(call: Invocation, folder: Path) -> bytes:
    """The archive on the disk; what the harness is told is no part of it."""
    for name in ("code", "home", "tmp"):
        make_folder(folder / name, 0o700)
    try:
        for file in unpacked(call.archive):
            path = folder.joinpath("code", *checked_parts(file.path))
            write_atomic(path, file.content, mode=0o755 if file.executable else 0o644)
        for name, found in call.brought:
            # Above the code, where Node looks once the archive has nothing of that name; Python is
            # told to.
            make_folder(folder / _BROUGHT)
            (folder / _BROUGHT / name).symlink_to(found)
    except (Refused, zipfile.BadZipFile, zlib.error) as error:
        message = f"the archive of `{call.function}` is damaged: {str(error).lower()}"
        raise FabricError(Problem("invoke/bad-archive", message)) from error
    return json.dumps({**_said(call, folder), "event": _event(call)}).encode()


def _said(call: Invocation, folder: Path) -> dict[str, object]:
    """What the harness is told of the function: `call.mjs` and `said.py` read it."""
    module, _, name = call.handler.rpartition(".")
    caller = call.caller
    return {
        "folder": str(folder / "code"),
        "module": module,
        "name": name,
        "functionName": call.function,
        "seconds": call.timeout,
        "brought": [str(folder / _BROUGHT)] if call.brought else [],
        "convention": caller.convention,
        "names": caller.names,
        "methods": caller.methods,
        "kinds": caller.kinds,
        "path": caller.path,
        "host": caller.host,
        "schedule": caller.schedule,
        "memory": caller.memory,
        "region": caller.region,
        "resource": caller.resource,
        "streams": caller.is_lambda,
        "variables": [name for name, _ in call.env.reveal()],
    }


def _event(call: Invocation) -> Any:
    try:
        return json.loads(call.event)
    except ValueError as error:
        message = f"the payload for `{call.function}` is not JSON: {error}"
        raise FabricError(Problem("input/bad-payload", message)) from error


def _run(
    program: list[str], call: Invocation, given: tuple[Path, bytes], parent: Mapping[str, str]
) -> tuple[Overheard, bytes]:
    place, said = given
    env = {
        "PATH": parent.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        **(_lambda_variables(call, place) if call.caller.is_lambda else {}),
        **dict(call.env.reveal()),
    }
    with _written(place, "call", said) as asked, _written(place, "answer") as answer:
        heard = run_bounded(
            [*program, str(shown_path(asked)), str(answer)],
            cwd=place / "code",
            env=env,
            limits=Limits(seconds=call.timeout),
            pass_fds=(answer,),
        )
        return heard, content_of(answer)


def _lambda_variables(call: Invocation, place: Path) -> dict[str, str]:
    """Those of the runtime that are known here: none is made up."""
    caller = call.caller
    memory, region = str(caller.memory or ""), caller.region
    known = {
        "AWS_LAMBDA_FUNCTION_NAME": call.function,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": memory,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "LAMBDA_TASK_ROOT": str(place / "code"),
        "_HANDLER": call.handler,
    }
    return {name: value for name, value in known.items() if value}


@contextlib.contextmanager
def _written(folder: Path, name: str, content: bytes = b"") -> Iterator[int]:
    """What is asked and answered may be secret: in memory, where a kill leaves nothing of it."""
    with memory_file(f"fabric-{name}", content) as fd:
        if fd is not None:
            yield fd
            return
    path = folder / name
    write_atomic(path, content, mode=0o600)
    with path.open("r+b") as file:
        yield file.fileno()


def _read(call: Invocation, heard: Overheard, answer: bytes) -> Invoked:
    logs = "".join(raw.decode(errors="replace") for raw in (heard.stdout, heard.stderr))
    match heard.ending:
        case Ending.TIMED_OUT:
            raise _problem(call, "timeout", f"did not end within {call.timeout:g} s", logs)
        case Ending.TOO_MUCH:
            raise _problem(call, "failed", "wrote without end to its output", logs)
    found = _document(answer)
    if "error" in found:
        error = found["error"]
        raise _problem(call, "failed", f"failed: {error['type']}: {error['message']}", logs)
    if "response" not in found:
        why = found.get("unanswered") or f"exit code {heard.code}"
        raise _problem(call, "failed", f"gave no answer ({why})", logs)
    response = json.dumps(found["response"], ensure_ascii=False, separators=(",", ":"))
    return Invoked(response, logs, int(found["ms"]))


def _document(answer: bytes) -> dict[str, Any]:
    """What the harness said; a handler that wrote there itself has said nothing."""
    try:
        found = json.loads(answer)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _problem(call: Invocation, what: str, message: str, logs: str) -> FabricError:
    frame = "\n".join(logs.strip().splitlines()[-_QUOTED_LINES:])
    return FabricError(
        Problem(f"invoke/{what}", f"function `{call.function}` {message}", frame=frame)
    )
