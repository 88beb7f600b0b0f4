"""The server log: one JSON line per request and per error."""

import json
import traceback
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import asdict

from fabric.system.clock import Clock, stamp

_FRAMES = 12


class AccessLine(Struct, frozen=True, kw_only=True):
    """The log data of a request, without the query, which can be confidential."""

    id: str
    client: str
    method: str
    path: str
    route: str
    status: int
    ms: float
    bytes: int
    # Unverified and used for traces only.
    traceparent: str = ""


class LineLog:
    """Hands each line to `write`."""

    def __init__(self, clock: Clock, write: Callable[[str], None]) -> None:
        self.clock, self._write = clock, write
        self._hearers: list[Callable[[AccessLine], None]] = []

    def tell_too(self, hear: Callable[[AccessLine], None]) -> None:
        """Add a receiver of answered requests, before anything is served."""
        self._hearers.append(hear)

    def write_response(self, line: AccessLine) -> None:
        for hear in self._hearers:
            hear(line)
        facts = asdict(line)
        del facts["traceparent"]
        self.say("request", **facts)

    def write_failure(self, request_id: str, error: BaseException) -> None:
        """Log the place and type of an error. Its message is omitted, because it can be
        confidential."""
        frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
        trace = [f"{one.filename}:{one.lineno} {one.name}" for one in frames]
        self.say("error", id=request_id, error=type(error).__name__, trace=trace)

    def say(self, event: str, **facts: object) -> None:
        self._write(json.dumps({"time": stamp(self.clock), "event": event, **facts}))
