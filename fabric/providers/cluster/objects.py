"""Kubernetes objects as JSON: access to fields, and comparison. No effects."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

KubeObject: TypeAlias = dict[str, object]

# Names of rows in lists that the cluster itself keeps apart by them.
_KEYS = ("name", "mountPath", "containerPort", "key")


def read_at(thing: object, *keys: str) -> object:
    for key in keys:
        thing = thing.get(key) if isinstance(thing, Mapping) else None
    return thing


def read_text_at(thing: object, *keys: str) -> str:
    found = read_at(thing, *keys)
    return found if isinstance(found, str) else ""


def count_at(thing: object, *keys: str) -> int:
    found = read_at(thing, *keys)
    return found if isinstance(found, int) else 0


def read_rows_at(thing: object, *keys: str) -> list[KubeObject]:
    found = read_at(thing, *keys)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def read_texts_at(thing: object, *keys: str) -> dict[str, str]:
    found = read_at(thing, *keys)
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}


def format_key(thing: object) -> str:
    """Return the name for kubectl, such as `Deployment/shop-dev-hello`."""
    return f"{read_text_at(thing, 'kind')}/{read_text_at(thing, 'metadata', 'name')}"


def group_by_key(things: Iterable[KubeObject]) -> dict[str, KubeObject]:
    return {format_key(one): one for one in things}


def has_all_fields(there: object, wanted: object) -> bool:
    """Return whether all desired fields are present, ignoring fields that the cluster adds."""
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(
            has_all_fields(there.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(there, list) and _has_all_rows(there, wanted)
    return there == wanted


def _has_all_rows(there: list[object], wanted: list[object]) -> bool:
    """Compare lists. Rows with names are matched by name, because other writers can insert rows."""
    key = next((one for one in _KEYS if all(_has(row, one) for row in wanted)), "")
    if not key or not wanted:
        return len(there) == len(wanted) and all(map(has_all_fields, there, wanted))
    rows = {str(read_at(row, key)): row for row in there}
    return all(has_all_fields(rows.get(str(read_at(row, key))), row) for row in wanted)


def _has(row: object, key: str) -> bool:
    return isinstance(row, Mapping) and key in row
