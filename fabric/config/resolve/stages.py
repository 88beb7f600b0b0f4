"""Apply stage overlays and the provider choice to a document."""

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase

from fabric.config.schema.shapes import ASIDE
from fabric.config.yaml.nodes import (
    EMPTY,
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    find,
    find_child,
    place_of,
    remove_keys,
    with_entry,
)
from fabric.config.yaml.read import read_flag
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.problems import Problem
from fabric.model.text.spelling import suggest_spelling

_OVERLAID = ("provider", "backend", "env", "params", "defaults", "extensions")
_WILD = "*?["


def remove_anchor_keys(node: Mapping) -> Mapping:
    """Remove the user's anchor keys. Their content is already merged where it is used."""
    return node._replace(
        entries=tuple(item for item in node.entries if not item.key.startswith(ASIDE))
    )


def apply_stage_overlays(root: Mapping, stage: str) -> Mapping:
    """Apply all matching overlays of the stage, from least to most specific."""
    for overlay in list_overlays(root, stage):
        root = _apply_overlay(root, overlay)
    return root


# The keys of a function that its build, package and local runs read.
BUILD_KEYS = ("build", "checks", "include", "package")


def apply_defaults(root: Mapping) -> Mapping:
    """Merge `defaults` into all functions. The place of a merged function is its own. Functions
    with an existing image get no settings of builds."""
    defaults = find_child(root, "defaults")
    if not isinstance(defaults, Mapping):
        return root
    below = remove_keys(defaults, "name", "entry")

    def merge(_name: str, function: Mapping) -> Node:
        has_image = find_child(function, "image") is not None
        merged = merge_nodes(remove_keys(below, *BUILD_KEYS) if has_image else below, function)
        entries = merged.entries if isinstance(merged, Mapping) else function.entries
        return function._replace(entries=entries)

    return _change_functions(root, merge)


def list_overlays(root: Mapping, stage: str) -> list[Mapping]:
    stages = find_child(root, "stages")
    entries = stages.entries if isinstance(stages, Mapping) else ()
    matching = [entry for entry in entries if _is_stage_match(entry.key, stage)]
    ordered = sorted(matching, key=lambda entry: _rank_pattern(entry.key))
    return [entry.value for entry in ordered if isinstance(entry.value, Mapping)]


def is_protected(root: Mapping, stage: str) -> bool:
    """Return whether the stage is protected. The most specific overlay wins."""
    said = [one for one in list_overlays(root, stage) if find_child(one, "protected") is not None]
    return bool(said) and read_flag(said[-1], "protected")


def stage_names(root: Node) -> list[str]:
    """List the stages that the document names, without patterns."""
    stages = find_child(root, "stages")
    entries = stages.entries if isinstance(stages, Mapping) else ()
    return [entry.key for entry in entries if not any(sign in entry.key for sign in _WILD)]


def list_stage_patterns(root: Node) -> list[str]:
    """List the patterns of stages in the document."""
    stages = find_child(root, "stages")
    entries = stages.entries if isinstance(stages, Mapping) else ()
    return [entry.key for entry in entries if any(sign in entry.key for sign in _WILD)]


def find_unknown_functions(root: Mapping) -> Iterator[Problem]:
    """Overlays for functions that the service does not have."""
    known = [name for name, _ in list_named_entries(find_child(root, "functions"))]
    stages = find_child(root, "stages")
    for stage in stages.entries if isinstance(stages, Mapping) else ():
        for name, node in list_named_entries(find_child(stage.value, "functions")):
            if name not in known:
                message = (
                    f"unknown function `{format_excerpt(name)}` in stage "
                    f"`{format_excerpt(stage.key)}`"
                )
                hint = suggest_spelling(name, known)
                yield Problem("config/unknown-function", message, hint, place_of(node))


def list_named_entries(node: Node | None) -> tuple[tuple[str, Mapping], ...]:
    """Name and entry of a list of named entries, or of a map from name to entry."""
    if isinstance(node, Mapping):
        return tuple(
            (entry.key, entry.value) for entry in node.entries if isinstance(entry.value, Mapping)
        )
    items: Iterable[Node] = node.items if isinstance(node, Sequence) else ()
    return tuple((_name_of(item), item) for item in items if isinstance(item, Mapping))


def _name_of(item: Mapping) -> str:
    name = find_child(item, "name")
    return name.text if isinstance(name, Scalar) else ""


def _is_stage_match(pattern: str, stage: str) -> bool:
    return pattern == stage or fnmatchcase(stage, pattern)


def _rank_pattern(pattern: str) -> tuple[bool, int, str]:
    """Rank a pattern: exact names after globs, and globs by specificity."""
    is_exact = not any(sign in pattern for sign in _WILD)
    return is_exact, sum(sign not in _WILD for sign in pattern), pattern


def _apply_overlay(root: Mapping, overlay: Mapping) -> Mapping:
    for key in _OVERLAID:
        entry = find(overlay, key)
        if entry is not None:
            root = with_entry(root, _merge_entry(find(root, key), entry))
    return _with_functions(root, overlay)


def _merge_entry(base: KeyValue | None, over: KeyValue) -> KeyValue:
    return over if base is None else base._replace(value=merge_nodes(base.value, over.value))


def merge_nodes(base: Node, over: Node) -> Node:
    """Merge maps key by key. Lists and scalars are replaced."""
    if not isinstance(base, Mapping) or not isinstance(over, Mapping):
        return over
    entries = {entry.key: entry for entry in base.entries}
    for entry in over.entries:
        entries[entry.key] = _merge_entry(entries.get(entry.key), entry)
    return base._replace(entries=tuple(entries.values()))


def _with_functions(root: Mapping, overlay: Mapping) -> Mapping:
    changes = {
        name: remove_keys(change, "name")
        for name, change in list_named_entries(find_child(overlay, "functions"))
    }
    return _change_functions(
        root, lambda name, function: merge_nodes(function, changes.get(name, EMPTY))
    )


def _change_functions(root: Mapping, change: Callable[[str, Mapping], Node]) -> Mapping:
    """Change each function of the service, in a list or in a map."""

    def change_one(name: str, function: Node) -> Node:
        return change(name, function) if isinstance(function, Mapping) else function

    functions = find(root, "functions")
    match functions.value if functions else None:
        case Mapping(entries=entries) as named:
            changed = (one._replace(value=change_one(one.key, one.value)) for one in entries)
            value: Node = named._replace(entries=tuple(changed))
        case Sequence(items=items) as listed:
            names = (_name_of(one) if isinstance(one, Mapping) else "" for one in items)
            value = listed._replace(items=tuple(map(change_one, names, items)))
        case _:
            return root
    return root if functions is None else with_entry(root, functions._replace(value=value))
