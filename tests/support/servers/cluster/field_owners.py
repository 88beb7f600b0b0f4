"""Server-side apply: which manager has set which field, and whose word counts."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str, ...]
Leaves: TypeAlias = dict[Path, Any]
Owners: TypeAlias = dict[str, frozenset[Path]]


class ConflictError(Exception):
    """By manager, the fields that it holds."""

    def __init__(self, held: list[tuple[str, str]]) -> None:
        super().__init__()
        self.held = held


def applied(
    there: dict[str, Any], wanted: dict[str, Any], owners: Owners, manager: str, *, force: bool
) -> tuple[dict[str, Any], Owners]:
    """The object as it is then, and who has set what of it."""
    new, old = leaves(wanted), leaves(there)
    others = {name: paths for name, paths in owners.items() if name != manager}
    held = [
        (name, _spoken(path))
        for name, paths in sorted(others.items())
        for path in sorted(paths)
        if path in new and new[path] != old.get(path)
    ]
    if held and not force:
        raise ConflictError(held)
    kept = {name: paths - set(new) if force else paths for name, paths in others.items()}
    every = frozenset(path for paths in kept.values() for path in paths)
    dropped = owners.get(manager, frozenset()) - set(new) - every
    merged = {path: value for path, value in old.items() if path not in dropped}
    merged = {p: v for p, v in merged.items() if not any(_is_below(p, own) for own in new)}
    merged |= new
    return joined(merged), {**kept, manager: frozenset(new)}


def _is_below(path: Path, top: Path) -> bool:
    return len(path) > len(top) and path[: len(top)] == top


def leaves(document: Mapping[str, Any]) -> Leaves:
    """Status and what the server sets itself belong to nobody; lists count as one value."""
    skipped = {("status",), ("metadata", "generation"), ("metadata", "uid")}
    return {path: value for path, value in _walk(document, ()) if path[:1] not in skipped}


def _walk(document: Any, at: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(document, Mapping) and document:
        for name, value in document.items():
            yield from _walk(value, (*at, name))
    elif at:
        yield at, document


def joined(found: Leaves) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for path, value in found.items():
        inner = document
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = value
    return document


def _spoken(path: Path) -> str:
    return "." + ".".join(path)
