"""A YAML document as a tree of values with places. Independent of file types."""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from fabric.config.yaml.syntax import format_excerpt, has_binding, has_unread_reference
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import Place
from fabric.model.secrets.secrecy import REDACTED

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
    reference: bool = False  # a reference such as `${ssm:NAME}` is part of it


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

    Text from a binding is checked like any other, even if it looks like a binding. References are
    not read in simulated runs.
    """
    if not isinstance(leaf.value, str):
        return False
    if leaf.reference:
        return has_unread_reference(leaf.value)
    return not leaf.bound and has_binding(leaf.value)


LONGEST_NUMBER = 64

_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MAY_BE_NUMBER = frozenset("0123456789+-.")
# Unquoted text that begins with any other letter is just text.
MAY_MEAN = _MAY_BE_NUMBER | frozenset("~nNtTfF")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ZERO_FIRST = re.compile(r"[-+]?0[0-9]+")
_INFINITY = float("inf")


class NumberTooLongError(ValueError):
    """A number with too many digits. Converting it would waste time."""


def interpret_scalar(text: str) -> Value:
    """Interpret an unquoted scalar. Everything that is not a core-schema word or number is text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    return _number(text)


def has_leading_zero(text: str) -> bool:
    """Return whether digits have a leading zero, such as `010`. Such values stay text, because
    parsers disagree."""
    return _ZERO_FIRST.fullmatch(text) is not None


def _number(text: str) -> Value:
    for pattern, base in ((_DECIMAL, 10), (_OCTAL, 8), (_HEX, 16)):
        if pattern.fullmatch(text):
            return int(_shorten(text), base)
    if _FLOAT.fullmatch(text):
        number = float(_shorten(text))
        # JSON has no infinity, so a number beyond all floats stays what was written.
        return text if abs(number) == _INFINITY else number
    return text


def _shorten(text: str) -> str:
    if len(text) > LONGEST_NUMBER:
        raise NumberTooLongError
    return text
