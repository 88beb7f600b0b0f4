"""Call an archive once on this machine, in a separate child with a minimal environment."""

import json
from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct

from fabric.model.late_values import require_known_values
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs
from fabric.runtimes.calls.call_end import CallEnd, build_call_problem
from fabric.runtimes.calls.event_lines import encode_call_event
from fabric.runtimes.calls.function import (
    AS_EVENT,
    CallingProvider,
    CodeArchive,
    InstalledPackages,
    LocalFunction,
)
from fabric.runtimes.calls.pool import HandlerPool, PoolLimits
from fabric.system.event_loop import EventLoop


class Invocation(Struct, frozen=True):
    """A call."""

    function: str
    archive: bytes
    handler: str
    runtime: str
    # JSON text; the other fields are as in `LocalFunction`.
    event: str = "null"
    env: Secret[Pairs] = NO_PAIRS
    timeout: float = 900
    installed: InstalledPackages = InstalledPackages()
    caller: CallingProvider = AS_EVENT

    @property
    def local(self) -> LocalFunction:
        code = CodeArchive(sha256(self.archive).hexdigest(), lambda: self.archive)
        return LocalFunction(
            name=self.function,
            code=code,
            handler=self.handler,
            runtime=self.runtime,
            env=self.env,
            timeout=self.timeout,
            installed=self.installed,
            caller=self.caller,
        )


class Invoked(Struct, frozen=True):
    """The result of a call."""

    # JSON text.
    response: str
    # The unchanged output of the handler.
    logs: str
    ms: int
    # Differences between this call and the provider.
    warnings: tuple[Problem, ...] = ()


def invoke(call: Invocation, parent: Mapping[str, str]) -> Invoked:
    """Call the handler. Of the `parent`'s variables it sees only PATH."""
    require_known_values(f"function `{call.function}`", (value for _, value in call.env.reveal()))
    end = call_once(call.local, format_payload_line(call.function, call.event), parent)
    problem = build_call_problem(call.function, end)
    if problem is not None:
        raise FabricError(problem)
    return Invoked(end.response.decode(), end.said, end.ms, end.warnings)


def call_once(function: LocalFunction, event: bytes, parent: Mapping[str, str]) -> CallEnd:
    """Run one call, like `HandlerPool` does for many."""
    loop = EventLoop()
    pool = HandlerPool(loop, parent, PoolLimits(instances=1))
    ends: list[CallEnd] = []
    try:
        pool.put(function)
        pool.call(function.name, event, ends.append)
        loop.run_until(lambda: bool(ends))
    finally:
        pool.close()
        loop.close()
    return ends[0]


def format_payload_line(function: str, text: str) -> bytes:
    """Format a payload as one line of JSON."""
    try:
        return encode_call_event(json.loads(text))
    except ValueError as error:
        message = f"invalid JSON payload for `{function}`: {error}"
        raise FabricError(Problem("input/bad-payload", message)) from error
