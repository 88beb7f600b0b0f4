"""Invoke an action and poll for its result, so that no invocation runs twice."""

import time

import msgspec
from msgspec import Struct

from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import FunctionAnswer, LiveFunction
from fabric.providers.core.http_calls import build_json_call
from fabric.providers.core.payloads import format_json
from fabric.providers.core.retry import RetryPolicy, poll_until
from fabric.providers.whisk.clocks import EVENT
from fabric.providers.whisk.work import WhiskWork

# A function may take so long, and a record of it comes a moment later.
_CALLING = RetryPolicy(base=0.1, cap=2.0, most=930.0)
_TO_TELL = RetryPolicy(base=0.1, cap=1.0, most=3.0)


class _Begun(Struct, frozen=True, rename="camel"):
    activation_id: str


class _Result(Struct, frozen=True):
    success: bool = False
    status: str = ""
    result: Json = None


class Activation(Struct, frozen=True, rename="camel"):
    """The result of an invocation."""

    activation_id: str
    response: _Result = _Result()
    # Lines; for a sequence, they are ids of its invocations.
    logs: tuple[str, ...] = ()
    duration: int = 0

    @property
    def answer(self) -> Json:
        return self.response.result

    @property
    def failure(self) -> str:
        """The error message; empty if it succeeded."""
        if self.response.success:
            return ""
        said = self.answer
        error = said.get("error", said) if isinstance(said, dict) else said
        return error if isinstance(error, str) else format_json(error)


def activate_action(
    work: WhiskWork, path: str, parameters: JsonObject, namespace: str = ""
) -> Activation:
    call = build_json_call("POST", f"/actions/{path}?blocking=false", parameters)
    begun = work.api.once(call, _Begun, namespace)
    found = poll_until(lambda: _fetch_activation(work, begun.activation_id), _CALLING, work.watch)
    if found is None:
        message = f"timeout: `{path}` did not end within {_CALLING.most:.0f} s"
        hint = "check its activations, then run the command again: it might still end"
        raise FabricError(Problem("provider/not-ready", message, hint))
    return found


def _fetch_activation(work: WhiskWork, ident: str) -> Activation | None:
    return work.look(f"/activations/{ident}", Activation)


def invoke_function(work: WhiskWork, function: LiveFunction, event: bytes) -> FunctionAnswer:
    began = time.perf_counter()
    parameters: JsonObject = {EVENT: msgspec.json.decode(event or b"null", type=Json)}
    ended = activate_action(work, function.resource_name, parameters)
    ms = round((time.perf_counter() - began) * 1000)
    said = ended.answer
    response = said.get("response") if isinstance(said, dict) else said
    return FunctionAnswer(format_json(response), _fetch_lines(work, ended), ms, ended.failure)


def _fetch_lines(work: WhiskWork, ended: Activation) -> str:
    """Fetch the log of the version that the sequence called; each line has time and stream."""
    if not ended.logs:
        return ""
    called = poll_until(lambda: _fetch_activation(work, ended.logs[0]), _TO_TELL, work.watch)
    lines = called.logs if called else ()
    return "".join(f"{line.partition(': ')[2] or line}\n" for line in lines)
