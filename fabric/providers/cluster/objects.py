"""Kubernetes objects as JSON: access to fields, and comparison. No effects."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

KubeObject: TypeAlias = dict[str, object]

# Names of rows in lists that the cluster itself keeps apart by them.
_KEYS = ("name", "mountPath", "containerPort", "key")


def at(thing: object, *keys: str) -> object:
    for key in keys:
        thing = thing.get(key) if isinstance(thing, Mapping) else None
    return thing


def text_at(thing: object, *keys: str) -> str:
    found = at(thing, *keys)
    return found if isinstance(found, str) else ""


def count_at(thing: object, *keys: str) -> int:
    found = at(thing, *keys)
    return found if isinstance(found, int) else 0


def rows_at(thing: object, *keys: str) -> list[KubeObject]:
    found = at(thing, *keys)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def texts_at(thing: object, *keys: str) -> dict[str, str]:
    found = at(thing, *keys)
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}


def key_of(thing: object) -> str:
    """Return the name for kubectl, such as `Deployment/shop-dev-hello`."""
    return f"{text_at(thing, 'kind')}/{text_at(thing, 'metadata', 'name')}"


def by_key(things: Iterable[KubeObject]) -> dict[str, KubeObject]:
    return {key_of(one): one for one in things}


def includes(there: object, wanted: object) -> bool:
    """Return whether all desired fields are present, ignoring fields that the cluster adds."""
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(
            includes(there.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(there, list) and _lists_include(there, wanted)
    return there == wanted


def _lists_include(there: list[object], wanted: list[object]) -> bool:
    """Compare lists. Rows with names are matched by name, because other writers can insert rows."""
    key = next((one for one in _KEYS if all(_has(row, one) for row in wanted)), "")
    if not key or not wanted:
        return len(there) == len(wanted) and all(map(includes, there, wanted))
    rows = {str(at(row, key)): row for row in there}
    return all(includes(rows.get(str(at(row, key))), row) for row in wanted)


def _has(row: object, key: str) -> bool:
    return isinstance(row, Mapping) and key in row
