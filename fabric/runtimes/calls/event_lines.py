"""Events in the format of child processes: JSON in one line."""

import json

import msgspec

from fabric.model.outcomes.json_struct import Json


def encode_call_event(event: Json) -> bytes:
    try:
        return msgspec.json.encode(event)
    except (UnicodeEncodeError, ValueError):  # halves of characters, numbers beyond 64 bits
        return json.dumps(event).encode()


def parse_event(content: bytes) -> Json:
    """Parse an event. Raises ValueError for invalid JSON, for too deep nesting, and for constants
    such as NaN."""
    try:
        found: Json = json.loads(content.decode("utf-8-sig"), parse_constant=_reject_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return found


def _reject_constant(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")
