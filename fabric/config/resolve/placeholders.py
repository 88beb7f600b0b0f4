"""Values that are known only after an upstream's release: marked where they stand, until then.

A mark is a name between two characters that no config may hold; few places may carry one.
"""

import re
from collections.abc import Iterator
from collections.abc import Mapping as Env

from fabric.config.schema.check import Finding
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, place_of
from fabric.model.problems import Problem

_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}([A-Z0-9_]+){_CLOSE}")
_FREE = frozenset({"env", "resources", "params", "extensions", "addons"})
_FREE_IN_FUNCTIONS = frozenset({"env"})


def mark(name: str) -> str:
    """What stands for a variable whose value is not known yet."""
    return f"{_OPEN}{name}{_CLOSE}"


def late_names(text: str) -> tuple[str, ...]:
    """The variables that a text still waits for."""
    return tuple(_MARK.findall(text)) if _OPEN in text else ()


def filled_in(text: str, values: Env[str, str]) -> str:
    """The text with what is known by now in place of its marks."""
    if _OPEN not in text:
        return text
    return _MARK.sub(lambda found: values.get(found[1], found[0]), text)


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
