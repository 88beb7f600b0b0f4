"""Events in the format of child processes: JSON in one line."""

import json

import msgspec

from fabric.model.outcomes.json_struct import Json


def as_line(event: Json) -> bytes:
    try:
        return msgspec.json.encode(event)
    except (UnicodeEncodeError, ValueError):  # halves of characters, numbers beyond 64 bits
        return json.dumps(event).encode()


def event_in_text(content: bytes) -> Json:
    """Parse an event. Raises ValueError for invalid JSON, for too deep nesting, and for constants
    such as NaN."""
    try:
        found: Json = json.loads(content.decode("utf-8-sig"), parse_constant=_refused)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return found


def _refused(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")
