"""A YAML document as a tree of values with places. Independent of file types."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from fabric.config.yaml.syntax import format_excerpt, has_binding
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import Place
from fabric.model.secrecy import REDACTED

Value: TypeAlias = str | int | float | bool | None


# Named tuples, not frozen dataclasses: a big file makes tens of thousands, four times faster.
class Scalar(NamedTuple):
    """One leaf. `text` is the written text, `value` its meaning. Lines and columns count from 1."""

    value: Value
    text: str
    line: int
    column: int
    bound: bool = False  # bindings filled it, so text such as "5" may stand for a number
    secret: bool = False  # its value must never be shown
    written: str = ""  # what stood there before bindings were filled


class Sequence(NamedTuple):
    items: "tuple[Node, ...]"
    line: int
    column: int


class KeyValue(NamedTuple):
    """A key, its place and its value."""

    key: str
    line: int
    column: int
    value: "Node"


class Mapping(NamedTuple):
    entries: tuple[KeyValue, ...]
    line: int
    column: int


Node: TypeAlias = Scalar | Sequence | Mapping

EMPTY = Mapping((), 0, 0)


def format_leaf(leaf: Scalar) -> str:
    """The text of a leaf for a message, hidden when it is secret."""
    return REDACTED if leaf.secret else format_excerpt(leaf.text)


def place_of(node: Node | KeyValue) -> Place:
    """Return the place in the current file. The file name is added later."""
    return Place("", node.line, node.column)


def find(node: Node | None, key: str) -> KeyValue | None:
    """Find the entry of a mapping, or None. Other nodes have no entries."""
    if isinstance(node, Mapping):
        for entry in node.entries:
            if entry.key == key:
                return entry
    return None


def find_child(node: Node | None, *keys: str) -> Node | None:
    """Find the value below a path of keys, or None."""
    for key in keys:
        entry = find(node, key)
        if entry is None:
            return None
        node = entry.value
    return node


def with_entry(node: Mapping, entry: KeyValue) -> Mapping:
    """The mapping with this entry put in place of the one of the same key, or at the end."""
    if find(node, entry.key) is None:
        return node._replace(entries=(*node.entries, entry))
    entries = tuple(entry if old.key == entry.key else old for old in node.entries)
    return node._replace(entries=entries)


def remove_keys(node: Mapping, *keys: str) -> Mapping:
    return node._replace(entries=tuple(item for item in node.entries if item.key not in keys))


def convert_to_plain(node: Node) -> Json:
    """The tree as dicts, lists and scalars, for JSON."""
    return convert_with(node, lambda scalar, _: scalar.value)


def convert_with(node: Node, leaf: Callable[[Scalar, str], Json], key: str = "") -> Json:
    """Convert like `plain`; `leaf` converts each scalar with its nearest key."""
    if isinstance(node, Mapping):
        return {item.key: convert_with(item.value, leaf, item.key) for item in node.entries}
    if isinstance(node, Sequence):
        return [convert_with(item, leaf, key) for item in node.items]
    return leaf(node, key)


def is_unfilled(leaf: Scalar) -> bool:
    """Return whether the leaf still has a binding, so that it cannot be checked.

    Text from a binding is checked like any other, even if it looks like a binding.
    """
    return not leaf.bound and isinstance(leaf.value, str) and has_binding(leaf.value)
