"""Nodes out of a stream of starts, ends, leaves and aliases, within limits of depth and size."""

from fabric.config.nodes import EMPTY, Entry, Mapping, Node, Scalar, Sequence, place_of
from fabric.model.problems import FabricError, Place, Problem

MAX_DEPTH = 64
MAX_NODES = 200_000
MAX_EXPANDED = 200_000
MAX_MERGED_KEYS = 10_000
MAX_PROBLEMS = 100
_MERGE = "<<"


class _Open:
    """A collection whose end has not been seen; in a mapping, `key` waits for its value."""

    __slots__ = ("anchor", "born", "column", "entries", "height", "items", "key", "line", "merges")

    def __init__(self, line: int, column: int, anchor: str | None, born: int) -> None:
        self.line, self.column, self.anchor, self.born = line, column, anchor, born
        self.height = 1
        self.items: list[Node] = []
        self.entries: dict[str, Entry] | None = None
        self.key: Scalar | None = None
        self.merges: list[Node] = []


class _Anchored:
    """A named node, how many nodes it stands for, and how deep it is."""

    __slots__ = ("height", "node", "weight")

    def __init__(self, node: Node, weight: int, height: int) -> None:
        self.node, self.weight, self.height = node, weight, height


class Builder:
    """Takes events in order; `finish` gives the root or raises the duplicate keys it met."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._stack: list[_Open] = []
        self._root: Node = EMPTY
        self._anchors: dict[str, _Anchored] = {}
        self._count = self._expanded = self._merged = 0
        self._duplicates: list[Problem] = []

    def finish(self) -> Node:
        if self._duplicates:
            raise FabricError(*self._duplicates)
        return self._root

    def open(self, line: int, column: int, anchor: str | None, *, is_mapping: bool) -> None:
        self._grow(line, column)
        if len(self._stack) >= MAX_DEPTH:
            raise self._too_deep(Place(self._file, line, column))
        if anchor is not None:
            # Gone until its end is seen: an alias inside of it would be a loop.
            self._anchors.pop(anchor, None)
        frame = _Open(line, column, anchor, self._count)
        if is_mapping:
            frame.entries = {}
        self._stack.append(frame)

    def close(self) -> None:
        frame = self._stack.pop()
        node = self._node_of(frame)
        if frame.anchor is not None:
            weight = self._count - frame.born + 1
            self._anchors[frame.anchor] = _Anchored(node, weight, frame.height)
        self._place(node, frame.height, is_plain=False)

    def add(self, node: Scalar, anchor: str | None, is_plain: bool) -> None:  # noqa: FBT001 - called per leaf
        self._grow(node.line, node.column)
        if anchor is not None:
            self._anchors[anchor] = _Anchored(node, 1, 0)
        self._place(node, 0, is_plain=is_plain)

    def alias(self, name: str, where: Place) -> None:
        known = self._anchors.get(name)
        if known is None:
            message = f"`*{name[:64]}` points to nothing before it, or to what it stands in"
            raise FabricError(Problem("config/alias", message, where=where))
        self._count += known.weight
        self._expanded += known.weight
        if self._expanded > MAX_EXPANDED:
            message = f"the aliases stand for more than {MAX_EXPANDED:,} nodes"
            raise FabricError(Problem("config/alias-limit", message, where=where))
        if len(self._stack) + known.height > MAX_DEPTH:
            raise self._too_deep(where)
        self._place(known.node, known.height, is_plain=False)

    def _grow(self, line: int, column: int) -> None:
        self._count += 1
        if self._count - self._expanded > MAX_NODES:
            where = Place(self._file, line, column)
            message = f"the file has more than {MAX_NODES:,} values"
            raise FabricError(Problem("config/too-big", message, "split the service", where))

    def _place(self, node: Node, height: int, *, is_plain: bool) -> None:
        if not self._stack:
            self._root = node
            return
        frame = self._stack[-1]
        if height >= frame.height:
            frame.height = height + 1
        if frame.entries is None:
            frame.items.append(node)
        elif frame.key is None:
            frame.key = self._key(node, is_plain=is_plain)
        else:
            self._put(frame, frame.entries, frame.key, node)
            frame.key = None

    def _key(self, node: Node, *, is_plain: bool) -> Scalar:
        if not isinstance(node, Scalar):
            where = Place(self._file, node.line, node.column)
            raise FabricError(Problem("config/key", "a key must be plain text", where=where))
        # Marks a merge key, which only an unquoted `<<` is; keys have no other use for the flag.
        return node._replace(bound=True) if is_plain and node.text == _MERGE else node

    def _put(self, frame: _Open, entries: dict[str, Entry], key: Scalar, node: Node) -> None:
        if key.bound:
            frame.merges.extend(node.items if isinstance(node, Sequence) else (node,))
            return
        first = entries.get(key.text)
        if first is None:
            entries[key.text] = Entry(key.text, key.line, key.column, node)
            return
        where = Place(self._file, key.line, key.column)
        self._duplicates.append(_duplicate(key.text, first.line, where))
        if len(self._duplicates) >= MAX_PROBLEMS:
            raise FabricError(*self._duplicates)

    def _node_of(self, frame: _Open) -> Node:
        if frame.entries is None:
            return Sequence(tuple(frame.items), frame.line, frame.column)
        for merged in frame.merges:
            self._merge(frame.entries, merged)
        return Mapping(tuple(frame.entries.values()), frame.line, frame.column)

    def _merge(self, entries: dict[str, Entry], merged: Node) -> None:
        where = place_of(merged)
        where = Place(self._file, where.line, where.column)
        if not isinstance(merged, Mapping):
            raise FabricError(Problem("config/merge", "`<<` takes mappings only", where=where))
        self._merged += len(merged.entries)
        if self._merged > MAX_MERGED_KEYS:
            message = f"`<<` merges more than {MAX_MERGED_KEYS:,} keys"
            raise FabricError(Problem("config/merge-limit", message, where=where))
        for entry in merged.entries:
            entries.setdefault(entry.key, entry)

    def _too_deep(self, where: Place) -> FabricError:
        message = f"values are nested more than {MAX_DEPTH} deep"
        return FabricError(Problem("config/depth", message, where=where))


def _duplicate(key: str, first_line: int, where: Place) -> Problem:
    message = f"the key `{key[:64]}` stands in lines {first_line} and {where.line}"
    return Problem("config/duplicate-key", message, "keep one of them", where)
