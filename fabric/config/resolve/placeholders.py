"""Where a config may hold what is known only after an upstream's release: in few places."""

from collections.abc import Iterator

from fabric.config.schema.check import Finding
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, place_of
from fabric.model.late_values import late_names
from fabric.model.problems import Problem

_FREE = frozenset({"env", "resources", "params", "extensions", "addons"})
_FREE_IN_FUNCTIONS = frozenset({"env"})


def late_where_none_may_be(root: Mapping) -> Iterator[Finding]:
    for entry in root.entries:
        if entry.key == "functions":
            yield from _in_functions(entry.value)
        elif entry.key not in _FREE:
            yield from _refused_below(entry.key, entry.value)


def _in_functions(node: Node) -> Iterator[Finding]:
    items: tuple[Node, ...] = ()
    if isinstance(node, Sequence):
        items = node.items
    elif isinstance(node, Mapping):
        items = tuple(entry.value for entry in node.entries)
    for item in items:
        for entry in item.entries if isinstance(item, Mapping) else ():
            if entry.key not in _FREE_IN_FUNCTIONS:
                yield from _refused_below(f"functions[].{entry.key}", entry.value)


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
    message = f"`{path}` has to be known before anything runs, and `{name}` is not"
    hint = "an upstream's output may stand in `env`, `resources`, `params` and `extensions`"
    return Finding(Problem("config/late-value", message, hint, place_of(leaf)))
