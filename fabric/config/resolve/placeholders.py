"""The few places where a config can contain late values of an upstream's release."""

from collections.abc import Iterator

from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.check import Finding
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, place_of
from fabric.model.late_values import WHERE_LATE, find_late_names
from fabric.model.problems import Problem

_FREE = frozenset({"env", "params"})
# Of the entries of these, the keys that may; in a function nothing else may stand late.
_FREE_IN = {
    "functions": frozenset({"env"}),
    "resources": frozenset({"connectionString", "default"}),
    "addons": frozenset({"secrets"}),
}
# Decided before anything runs, and written down.
_KNOWN_IN_EXTENSIONS = frozenset({"region"})


def find_misplaced_late_values(root: Mapping) -> Iterator[Finding]:
    for entry in root.entries:
        if entry.key in _FREE_IN:
            yield from _check_entries(entry.key, entry.value)
        elif entry.key == "extensions":
            yield from _check_extensions(entry.value)
        elif entry.key not in _FREE:
            yield from _find_late_below(entry.key, entry.value)


def _check_entries(key: str, node: Node) -> Iterator[Finding]:
    for _, item in list_named_entries(node):
        for entry in item.entries:
            if entry.key not in _FREE_IN[key]:
                yield from _find_late_below(f"{key}[].{entry.key}", entry.value)


def _check_extensions(node: Node) -> Iterator[Finding]:
    for name, extension in list_named_entries(node):
        for entry in extension.entries:
            if entry.key in _KNOWN_IN_EXTENSIONS:
                yield from _find_late_below(f"extensions.{name}.{entry.key}", entry.value)


def _find_late_below(path: str, node: Node) -> Iterator[Finding]:
    for leaf in _list_leaves(node):
        names = find_late_names(leaf.value) if isinstance(leaf.value, str) else ()
        if names:
            yield _late_value_finding(path, leaf, names[0])


def _list_leaves(node: Node) -> Iterator[Scalar]:
    match node:
        case Scalar():
            yield node
        case Sequence(items=items):
            for item in items:
                yield from _list_leaves(item)
        case Mapping(entries=entries):
            for entry in entries:
                yield from _list_leaves(entry.value)


def _late_value_finding(path: str, leaf: Scalar, name: str) -> Finding:
    message = f"`{path}` must be known before the run, but `{name}` is known after a deploy"
    hint = f"use outputs of dependencies only in {WHERE_LATE}"
    return Finding(Problem("config/late-value", message, hint, place_of(leaf)))
