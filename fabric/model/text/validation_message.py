"""Validation errors as text: path, expected type and found type."""

import re

from msgspec import ValidationError

EXPECTED = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
    "array": "a list",
    "object": "an object",
}
FOUND = {**EXPECTED, "int": "a number"}
_MISSING = "Object missing required field "
_KIND = re.compile(r"`(\w+)`")


def describe_misfit(error: ValidationError) -> str:
    """Describe a decoder error as `functions[0].key: expected a text, found a number`."""
    said, _, place = str(error).partition(" - at `")
    path = place.rstrip("`").removeprefix("$").removeprefix(".")
    if said.startswith(_MISSING):
        return prefix_message(path, f"{said.removeprefix(_MISSING)} is required")
    expected, _, found = said.partition(", got ")
    words = _KIND.sub(lambda kind: EXPECTED.get(kind[1], kind[0]), expected)
    words = words[:1].lower() + words[1:]
    if found:
        words += ", found " + _KIND.sub(lambda kind: FOUND.get(kind[1], kind[0]), found)
    return prefix_message(path, words)


def prefix_message(path: str, words: str) -> str:
    return f"{path}: {words}" if path else words
