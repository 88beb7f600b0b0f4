"""Events as children are told them: JSON in one line."""

import json

import msgspec

from fabric.model.outcomes.json_struct import Json


def as_line(event: Json) -> bytes:
    try:
        return msgspec.json.encode(event)
    except (UnicodeEncodeError, ValueError):  # halves of characters, numbers beyond 64 bits
        return json.dumps(event).encode()
