"""Values against the description of a service: types, lengths, ranges, patterns, closed lists."""

import base64
import binascii
import re
from functools import cache
from typing import Any

Fields = dict[str, Any]
_NUMBERS = frozenset({"integer", "long", "float", "double"})


def from_text(shape: Any, text: str) -> Any:
    """A value that stood in an address or a header."""
    if shape.type_name in {"integer", "long"}:
        return int(text)
    if shape.type_name == "boolean":
        return text == "true"
    return text


def checked(shape: Any, value: Any, path: str) -> Any:
    """The value with blobs decoded; a ValueError that names the place of what does not fit."""
    match shape.type_name:
        case "structure":
            return _structure(shape, value, path)
        case "map":
            _expect(value, dict, path)
            _size(shape, len(value), path)
            return {
                checked(shape.key, key, f"{path}.key"): checked(shape.value, one, f"{path}.{key}")
                for key, one in value.items()
            }
        case "list":
            _expect(value, list, path)
            _size(shape, len(value), path)
            return [checked(shape.member, one, f"{path}.member") for one in value]
    return _scalar(shape, value, path)


def _structure(shape: Any, value: Any, path: str) -> Fields:
    _expect(value, dict, path)
    # The top is already named by its members; what lies deeper has the names of the document.
    names = {
        name if not path else member.serialization.get("name", name): (name, member)
        for name, member in shape.members.items()
    }
    found: Fields = {}
    for key, one in value.items():
        if key not in names:
            raise ValueError(f"{path}.{key} is not known")
        name, member = names[key]
        if one is not None:
            found[name] = checked(member, one, f"{path}.{name}" if path else name)
    for name in shape.required_members:
        if name not in found:
            raise _broken("null", f"{path}.{name}".lstrip("."), "Member must not be null")
    return found


def _scalar(shape: Any, value: Any, path: str) -> Any:
    kind = shape.type_name
    if kind == "blob":
        return _blob(value, path)
    if kind == "boolean":
        _expect(value, bool, path)
    elif kind in _NUMBERS:
        _number(shape, value, path)
    elif kind == "string":
        _expect(value, str, path)
        _text(shape, value, path)
    return value


def _blob(value: Any, path: str) -> bytes:
    if isinstance(value, bytes):
        return value
    _expect(value, str, path)
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        raise ValueError(f"{path} is not base64") from None


def _number(shape: Any, value: Any, path: str) -> None:
    wanted = int if shape.type_name in {"integer", "long"} else int | float
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise TypeErrorInRequest(value, path)
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and value < low:
        raise _broken(value, path, f"Member must have value greater than or equal to {low}")
    if high is not None and value > high:
        raise _broken(value, path, f"Member must have value less than or equal to {high}")


def _text(shape: Any, value: str, path: str) -> None:
    _size(shape, len(value), path)
    closed = shape.metadata.get("enum")
    if closed and value not in closed:
        raise _broken(value, path, f"Member must satisfy enum value set: {sorted(closed)}")
    pattern = shape.metadata.get("pattern")
    compiled = _compiled(pattern) if pattern else None
    if compiled and not compiled.fullmatch(value):
        raise _broken(value, path, f"Member must satisfy regular expression pattern: {pattern}")


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """The few that are not written as Python writes them are not checked."""
    try:
        return re.compile(pattern)
    except re.error:
        return None


def _size(shape: Any, size: int, path: str) -> None:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and size < low:
        raise _broken("", path, f"Member must have length greater than or equal to {low}")
    if high is not None and size > high:
        raise _broken("", path, f"Member must have length less than or equal to {high}")


def _expect(value: Any, kind: type, path: str) -> None:
    if not isinstance(value, kind):
        raise TypeErrorInRequest(value, path)


def _broken(value: object, path: str, rule: str) -> ValueError:
    place = path[:1].lower() + path[1:]
    return ValueError(f"Value '{value}' at '{place}' failed to satisfy constraint: {rule}")


class TypeErrorInRequest(ValueError):  # noqa: N818 - said to whoever reads a failed test
    def __init__(self, value: object, path: str) -> None:
        super().__init__(f"{path} has the type {type(value).__name__}")
