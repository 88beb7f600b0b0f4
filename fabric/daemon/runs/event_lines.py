"""The events of a run as numbered lines: the form of the event file and its reader."""

import json
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fabric.engine.listeners.journal import encode_journal_line
from fabric.model.runs.events import EVENT_NAMES, RunEnded, Stamped

_LAST = EVENT_NAMES[RunEnded]


class EventLine(Struct, frozen=True):
    """An event as one line of JSON. A run's events are numbered from 1."""

    number: int
    kind: str
    text: str

    @property
    def is_last(self) -> bool:
        return self.kind == _LAST


class Beat(Struct, frozen=True):
    """A heartbeat of a stream without new events."""


StreamItem = EventLine | Beat


def encode_stamped_event(stamped: Stamped) -> EventLine:
    return EventLine(
        stamped.seq, EVENT_NAMES[type(stamped.event)], encode_journal_line(stamped).rstrip()
    )


def read_events(path: Path) -> Iterator[EventLine]:
    """Read the events of a file, up to the first damaged or foreign line."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                found = _parse_event(line, number)
                if found is None:
                    return
                yield found
    except OSError:
        return


def encode_sse(item: StreamItem) -> str:
    """Encode as a server-sent event. A JSON line contains no line break."""
    match item:
        case EventLine(number, kind, text):
            return f"id: {number}\nevent: {kind}\ndata: {text}\n\n"
        case Beat():
            return ": beat\n\n"


def _parse_event(line: bytes, number: int) -> EventLine | None:
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
