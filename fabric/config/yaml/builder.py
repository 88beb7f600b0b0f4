"""Nodes out of a stream of YAML events, within limits of depth and size."""

import re

from yaml import ScalarNode
from yaml.constructor import SafeConstructor
from yaml.events import MappingStartEvent
from yaml.resolver import Resolver

from fabric.config.yaml.frames import AliasUse, LeafEvent, NodeStart, YamlEvent
from fabric.config.yaml.nodes import (
    EMPTY,
    LONGEST_NUMBER,
    MAY_MEAN,
    KeyValue,
    Mapping,
    Node,
    NumberTooLongError,
    Scalar,
    Sequence,
    Value,
    has_leading_zero,
    interpret_scalar,
)
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.problems import FabricError, Place, Problem

MAX_DEPTH = 64
MAX_NODES = 60_000
MAX_EXPANDED = 200_000
MAX_MERGED_KEYS = 10_000
MAX_PROBLEMS = 100
_MERGE = "<<"
_MAPPING: type[object] = MappingStartEvent
# The short forms of CloudFormation functions.
_FUNCTION_TAG = re.compile(r"![A-Za-z][A-Za-z0-9]*(?:::[A-Za-z0-9]+)?")
_WITHOUT_PREFIX = ("!Ref", "!Condition")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Open:
    """An open collection. In a mapping, `key` waits for its value."""

    __slots__ = (
        *("anchor", "born", "column", "entries", "height"),
        *("items", "key", "line", "merges", "tag"),
    )

    def __init__(self, event: NodeStart, born: int) -> None:
        mark = event.start_mark
        self.line, self.column, self.born = mark.line + 1, mark.column + 1, born
        self.anchor, self.tag = event.anchor, event.tag
        self.height = 1
        self.items: list[Node] = []
        self.entries: dict[str, KeyValue] | None = None
        self.key: LeafEvent | None = None
        self.merges: list[Node] = []


class _Anchored:
    """An anchored node, with its number of nodes and depth."""

    __slots__ = ("height", "node", "weight")

    def __init__(self, node: Node, weight: int, height: int) -> None:
        self.node, self.weight, self.height = node, weight, height


def interpret_yaml_1_1(text: str) -> Value:
    """Interpret an unquoted scalar by YAML 1.1: `yes` is true, and `010` is 8. Dates stay text."""
    constructor = SafeConstructor()
    resolved: str = Resolver().resolve(ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    tag = resolved.rpartition(":")[2]
    if tag == "bool":
        return bool(constructor.construct_yaml_bool(ScalarNode(tag, text)))
    if tag == "int":
        if len(text) > LONGEST_NUMBER:
            raise NumberTooLongError
        return int(constructor.construct_yaml_int(ScalarNode(tag, text)))
    return text if tag == "str" else interpret_scalar(text)


class TreeBuilder:
    """Builds a tree from events. `finish` returns the root or raises duplicate keys."""

    def __init__(
        self,
        file: str,
        *,
        keeps_tags: bool = False,
        as_pyyaml: bool = False,
    ) -> None:
        self._file = file
        self._as_pyyaml = as_pyyaml
        self._keeps_tags = keeps_tags
        self._stack: list[_Open] = []
        self._top: _Open | None = None
        self._root: Node = EMPTY
        self._anchors: dict[str, _Anchored] = {}
        self._count = self._expanded = self._merged = 0
        self._duplicates: list[Problem] = []
        self.warnings: list[Problem] = []

    def finish(self) -> Node:
        if self._duplicates:
            raise FabricError(*self._duplicates)
        return self._root

    def open(self, event: NodeStart) -> None:
        self._accept(event)
        if len(self._stack) >= MAX_DEPTH:
            raise self._too_deep_error(event)
        if event.anchor is not None:
            # Gone until its end is seen: an alias inside of it would be a loop.
            self._anchors.pop(event.anchor, None)
        frame = _Open(event, self._count)
        if type(event) is _MAPPING:
            frame.entries = {}
        self._stack.append(frame)
        self._top = frame

    def close(self, _: YamlEvent) -> None:
        frame = self._stack.pop()
        self._top = self._stack[-1] if self._stack else None
        node = apply_tag(frame.tag, self._build_node(frame))
        if frame.anchor is not None:
            weight = self._count - frame.born + 1
            self._anchors[frame.anchor] = _Anchored(node, weight, frame.height)
        self._put_tree(node, frame.height)

    def scalar(self, event: LeafEvent) -> None:
        self._accept(event)
        top = self._top
        if top is not None and top.entries is not None and top.key is None:
            top.key = event
            if event.anchor is not None:
                self._anchors[event.anchor] = _Anchored(self._build_leaf(event), 1, 0)
            return
        node = apply_tag(event.tag, self._build_leaf(event))
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(node, 1, 0)
        self._put(node)

    def alias(self, event: AliasUse) -> None:
        known = self._anchors.get(event.anchor)
        if known is None:
            name = format_excerpt(event.anchor)
            message = f"alias `*{name}` has no anchor before it, or is inside its anchor"
            raise self._make_error("config/alias", message, event)
        self._count += known.weight
        self._expanded += known.weight
        if self._expanded > MAX_EXPANDED:
            raise too_many_aliases_error(self._file, event)
        if len(self._stack) + known.height > MAX_DEPTH:
            raise self._too_deep_error(event)
        if self._top is not None and self._top.entries is not None and self._top.key is None:
            raise self._make_error("config/key", "an alias cannot be a key", event)
        self._put_tree(known.node, known.height)

    def _accept(self, event: NodeStart) -> None:
        if event.tag is not None and not (self._keeps_tags and is_function_tag(event.tag)):
            raise tag_error(self._file, event, event.tag)
        self._count += 1
        if self._count - self._expanded > MAX_NODES:
            raise too_big_error(self._file, event)

    def _build_leaf(self, event: LeafEvent) -> Scalar:
        text, mark = event.value, event.start_mark
        # The pure loader lets escapes make half of a pair; libyaml refuses them itself.
        if not text.isascii() and _SURROGATE.search(text):
            raise self._make_error("config/encoding", "unpaired surrogate character", event)
        is_plain = event.implicit[0] and (not text or text[0] in MAY_MEAN or self._as_pyyaml)
        value = self._interpret_scalar(event) if is_plain else text
        if self._as_pyyaml and isinstance(value, int):
            text = str(value).lower()
        return Scalar(value, text, mark.line + 1, mark.column + 1)

    def _interpret_scalar(self, event: LeafEvent) -> Value:
        try:
            interpret = interpret_yaml_1_1 if self._as_pyyaml else interpret_scalar
            value = interpret(event.value)
        except NumberTooLongError as error:
            message = "a number has more than 64 digits (quote it if it is text)"
            raise self._make_error("config/number", message, event) from error
        if value is event.value and has_leading_zero(event.value) and not self._as_pyyaml:
            message = f"`{format_excerpt(event.value)}` has a leading zero and is read as text"
            hint = "quote the value to remove this warning"
            where = self._locate_event(event)
            self.warnings.append(Problem("config/leading-zero", message, hint, where))
        return value

    def _put_tree(self, node: Node, height: int) -> None:
        if self._top is not None and height >= self._top.height:
            self._top.height = height + 1
        self._put(node)

    def _put(self, node: Node) -> None:
        frame = self._top
        if frame is None:
            self._root = node
        elif frame.entries is None:
            frame.items.append(node)
        elif frame.key is None:
            message = "a key must be plain text"
            where = Place(self._file, node.line, node.column)
            raise FabricError(Problem("config/key", message, where=where))
        else:
            self._add_pair(frame, frame.entries, frame.key, node)
            frame.key = None

    def _add_pair(
        self, frame: _Open, entries: dict[str, KeyValue], key: LeafEvent, node: Node
    ) -> None:
        name, mark = key.value, key.start_mark
        if name == _MERGE and key.implicit[0]:
            frame.merges.extend(node.items if isinstance(node, Sequence) else (node,))
            return
        if name in entries:
            self._report_duplicate(name, entries[name].line, key)
        if name not in entries or self._as_pyyaml:
            entries[name] = KeyValue(name, mark.line + 1, mark.column + 1, node)

    def _report_duplicate(self, name: str, first_line: int, key: LeafEvent) -> None:
        where = self._locate_event(key)
        message = f"duplicate key `{format_excerpt(name)}` (lines {first_line} and {where.line})"
        problem = Problem("config/duplicate-key", message, "remove one of them", where)
        if self._as_pyyaml:
            self.warnings.append(problem)
            return
        self._duplicates.append(problem)
        if len(self._duplicates) >= MAX_PROBLEMS:
            raise FabricError(*self._duplicates)

    def _build_node(self, frame: _Open) -> Node:
        if frame.entries is None:
            return Sequence(tuple(frame.items), frame.line, frame.column)
        for merged in frame.merges:
            self._merge(frame.entries, merged)
        return Mapping(tuple(frame.entries.values()), frame.line, frame.column)

    def _merge(self, entries: dict[str, KeyValue], merged: Node) -> None:
        where = Place(self._file, merged.line, merged.column)
        if not isinstance(merged, Mapping):
            raise FabricError(Problem("config/merge", "`<<` requires a mapping", where=where))
        self._merged += len(merged.entries)
        if self._merged > MAX_MERGED_KEYS:
            message = f"`<<` merges more than {MAX_MERGED_KEYS:,} keys"
            raise FabricError(Problem("config/merge-limit", message, where=where))
        for entry in merged.entries:
            entries.setdefault(entry.key, entry)

    def _too_deep_error(self, event: YamlEvent) -> FabricError:
        return self._make_error(
            "config/depth", f"values are nested more than {MAX_DEPTH} levels deep", event
        )

    def _locate_event(self, event: YamlEvent) -> Place:
        return _place(self._file, event)

    def _make_error(self, code: str, message: str, event: YamlEvent) -> FabricError:
        return FabricError(Problem(code, message, where=self._locate_event(event)))


def is_function_tag(tag: str) -> bool:
    """Return whether a tag is the short form of a CloudFormation function, such as `!Ref`."""
    return _FUNCTION_TAG.fullmatch(tag) is not None


def apply_tag(tag: str | None, node: Node) -> Node:
    """Return the long form of a function: `!Sub text` is `{"Fn::Sub": text}`."""
    if tag is None:
        return node
    name = tag[1:] if tag in _WITHOUT_PREFIX else f"Fn::{tag[1:]}"
    return Mapping((KeyValue(name, node.line, node.column, node),), node.line, node.column)


def too_big_error(file: str, event: YamlEvent) -> FabricError:
    message = f"the file has more than {MAX_NODES:,} values"
    return FabricError(Problem("config/too-big", message, where=_place(file, event)))


def too_many_aliases_error(file: str, event: YamlEvent) -> FabricError:
    message = f"the aliases expand to more than {MAX_EXPANDED:,} values"
    return FabricError(Problem("config/alias-limit", message, where=_place(file, event)))


def tag_error(file: str, event: YamlEvent, tag: str) -> FabricError:
    message = f"the tag `{format_excerpt(tag)}` is not allowed"
    return FabricError(Problem("config/tag", message, where=_place(file, event)))


def _place(file: str, event: YamlEvent) -> Place:
    return Place(file, event.start_mark.line + 1, event.start_mark.column + 1)
