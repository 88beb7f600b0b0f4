"""The story of a run as numbered lines: what a file beside its record holds, and how it is read."""

import json
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fabric.engine.listeners.journal import event_line
from fabric.model.events import EVENT_NAMES, RunEnded, Stamped

_LAST = EVENT_NAMES[RunEnded]


class EventLine(Struct, frozen=True):
    """An event as one line of JSON; the numbers of a run's events are 1, 2, 3 and so on."""

    number: int
    kind: str
    text: str

    @property
    def is_last(self) -> bool:
        return self.kind == _LAST


class Beat(Struct, frozen=True):
    """Nothing has happened for a while, and the stream goes on."""


StreamItem = EventLine | Beat


def line_of(stamped: Stamped) -> EventLine:
    return EventLine(stamped.seq, EVENT_NAMES[type(stamped.event)], event_line(stamped).rstrip())


def read_events(path: Path) -> Iterator[EventLine]:
    """The events of a file, up to where it is torn or is not ours to tell."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                found = _event(line, number)
                if found is None:
                    return
                yield found
    except OSError:
        return


def sse_text(item: StreamItem) -> str:
    """As an event stream of the browser spells it. A line of JSON has no line break in it."""
    match item:
        case EventLine(number, kind, text):
            return f"id: {number}\nevent: {kind}\ndata: {text}\n\n"
        case Beat():
            return ": beat\n\n"


def _event(line: bytes, number: int) -> EventLine | None:
    try:
        text = line.decode()
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not (text.endswith("\n") and isinstance(found, dict) and found.get("seq") == number):
        return None
    kind = found.get("type")
    if not isinstance(kind, str) or kind not in EVENT_NAMES.values():
        return None
    return EventLine(number, kind, text.rstrip())
