"""Apply stage overlays and the provider choice to a document."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from fabric.config.schema.shapes import ASIDE
from fabric.config.yaml.nodes import (
    EMPTY,
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    child,
    find,
    place_of,
    with_entry,
    without,
)
from fabric.config.yaml.syntax import shown
from fabric.model.problems import Problem
from fabric.model.spelling import did_you_mean

_OVERLAID = ("provider", "backend", "env", "params", "extensions")
_WILD = "*?["


def without_asides(node: Mapping) -> Mapping:
    """Remove the user's anchor keys. Their content is already merged where it is used."""
    return node._replace(
        entries=tuple(item for item in node.entries if not item.key.startswith(ASIDE))
    )


def for_stage(root: Mapping, stage: str) -> Mapping:
    """Apply all matching overlays of the stage, from least to most specific."""
    for overlay in overlays_of(root, stage):
        root = _laid_over(root, overlay)
    return root


def overlays_of(root: Mapping, stage: str) -> list[Mapping]:
    stages = child(root, "stages")
    entries = stages.entries if isinstance(stages, Mapping) else ()
    matching = [entry for entry in entries if _matches(entry.key, stage)]
    ordered = sorted(matching, key=lambda entry: _specificity(entry.key))
    return [entry.value for entry in ordered if isinstance(entry.value, Mapping)]


def stage_names(root: Node) -> list[str]:
    """List the stages that the document names, without patterns."""
    stages = child(root, "stages")
    entries = stages.entries if isinstance(stages, Mapping) else ()
    return [entry.key for entry in entries if not any(sign in entry.key for sign in _WILD)]


def unknown_functions(root: Mapping) -> Iterator[Problem]:
    """Overlays for functions that the service does not have."""
    known = [name for name, _ in named_entries(child(root, "functions"))]
    stages = child(root, "stages")
    for stage in stages.entries if isinstance(stages, Mapping) else ():
        for name, node in named_entries(child(stage.value, "functions")):
            if name not in known:
                message = f"unknown function `{shown(name)}` in stage `{shown(stage.key)}`"
                hint = did_you_mean(name, known)
                yield Problem("config/unknown-function", message, hint, place_of(node))


def named_entries(node: Node | None) -> tuple[tuple[str, Mapping], ...]:
    """Name and entry of a list of named entries, or of a map from name to entry."""
    if isinstance(node, Mapping):
        return tuple(
            (entry.key, entry.value) for entry in node.entries if isinstance(entry.value, Mapping)
        )
    items: Iterable[Node] = node.items if isinstance(node, Sequence) else ()
    return tuple((_name_of(item), item) for item in items if isinstance(item, Mapping))


def _name_of(item: Mapping) -> str:
    name = child(item, "name")
    return name.text if isinstance(name, Scalar) else ""


def _matches(pattern: str, stage: str) -> bool:
    return pattern == stage or fnmatchcase(stage, pattern)


def _specificity(pattern: str) -> tuple[bool, int, str]:
    """Rank a pattern: exact names after globs, and globs by specificity."""
    is_exact = not any(sign in pattern for sign in _WILD)
    return is_exact, sum(sign not in _WILD for sign in pattern), pattern


def _laid_over(root: Mapping, overlay: Mapping) -> Mapping:
    for key in _OVERLAID:
        entry = find(overlay, key)
        if entry is not None:
            root = with_entry(root, _merged_entry(find(root, key), entry))
    return _with_functions(root, overlay)


def _merged_entry(base: KeyValue | None, over: KeyValue) -> KeyValue:
    return over if base is None else base._replace(value=merged(base.value, over.value))


def merged(base: Node, over: Node) -> Node:
    """Merge maps key by key. Lists and scalars are replaced."""
    if not isinstance(base, Mapping) or not isinstance(over, Mapping):
        return over
    entries = {entry.key: entry for entry in base.entries}
    for entry in over.entries:
        entries[entry.key] = _merged_entry(entries.get(entry.key), entry)
    return base._replace(entries=tuple(entries.values()))


def _with_functions(root: Mapping, overlay: Mapping) -> Mapping:
    changes = dict(named_entries(child(overlay, "functions")))
    functions = find(root, "functions")
    if not changes or functions is None:
        return root
    return with_entry(root, functions._replace(value=_changed(functions.value, changes)))


def _changed(functions: Node, changes: dict[str, Mapping]) -> Node:
    if isinstance(functions, Mapping):
        entries = (
            entry._replace(value=merged(entry.value, changes.get(entry.key, EMPTY)))
            for entry in functions.entries
        )
        return functions._replace(entries=tuple(entries))
    if isinstance(functions, Sequence):
        items = (
            merged(item, without(changes.get(_name_of(item), EMPTY), "name"))
            if isinstance(item, Mapping)
            else item
            for item in functions.items
        )
        return functions._replace(items=tuple(items))
    return functions
