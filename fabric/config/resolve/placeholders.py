"""The few places where a config can contain late values of an upstream's release."""

from collections.abc import Iterator

from fabric.config.resolve.stages import named_entries
from fabric.config.schema.check import Finding
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, place_of
from fabric.model.late_values import WHERE_LATE, late_names
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


def late_where_none_may_be(root: Mapping) -> Iterator[Finding]:
    for entry in root.entries:
        if entry.key in _FREE_IN:
            yield from _in_entries(entry.key, entry.value)
        elif entry.key == "extensions":
            yield from _in_extensions(entry.value)
        elif entry.key not in _FREE:
            yield from _refused_below(entry.key, entry.value)


def _in_entries(key: str, node: Node) -> Iterator[Finding]:
    for _, item in named_entries(node):
        for entry in item.entries:
            if entry.key not in _FREE_IN[key]:
                yield from _refused_below(f"{key}[].{entry.key}", entry.value)


def _in_extensions(node: Node) -> Iterator[Finding]:
    for name, extension in named_entries(node):
        for entry in extension.entries:
            if entry.key in _KNOWN_IN_EXTENSIONS:
                yield from _refused_below(f"extensions.{name}.{entry.key}", entry.value)


def _refused_below(path: str, node: Node) -> Iterator[Finding]:
    for leaf in _leaves(node):
        names = late_names(leaf.value) if isinstance(leaf.value, str) else ()
        if names:
            yield _refused(path, leaf, names[0])


def _leaves(node: Node) -> Iterator[Scalar]:
    match node:
        case Scalar():
            yield node
        case Sequence(items=items):
            for item in items:
                yield from _leaves(item)
        case Mapping(entries=entries):
            for entry in entries:
                yield from _leaves(entry.value)


def _refused(path: str, leaf: Scalar, name: str) -> Finding:
    message = f"`{path}` must be known before the run, but `{name}` is known after a deploy"
    hint = f"use outputs of dependencies only in {WHERE_LATE}"
    return Finding(Problem("config/late-value", message, hint, place_of(leaf)))
