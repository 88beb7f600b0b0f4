"""Typed access to JSON values; standard library only."""

from collections.abc import Mapping
from typing import TypeAlias, TypeGuard

Document: TypeAlias = Mapping[str, object]


def is_object(value: object) -> TypeGuard[Document]:
    return isinstance(value, dict)


def part(document: object, key: str) -> Document:
    """Return the object at a key, or an empty one."""
    found = document.get(key) if is_object(document) else None
    return found if is_object(found) else {}


def texts(value: object) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list) else ()
