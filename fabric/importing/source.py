"""Values of a source file with their places, and a record of the result for each key."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.config.yaml.nodes import EMPTY, Mapping, Node, Scalar, Sequence, convert_to_plain, find
from fabric.model.outcomes.json_struct import Json

Path: TypeAlias = tuple[str, ...]


class At(NamedTuple):
    """A value of the source: its path from the root, and the line and column of its key."""

    node: Node | None
    path: Path = ()
    line: int = 0
    column: int = 0

    def get(self, *keys: str) -> "At":
        found = self
        for key in keys:
            entry = find(found.node, key)
            path = (*found.path, key)
            if entry is None:
                found = At(None, path, found.line, found.column)
            else:
                found = At(entry.value, path, entry.line, entry.column)
        return found

    def list_entries(self) -> tuple["At", ...]:
        """List the values of a map. A list of maps counts as one map."""
        if isinstance(self.node, Sequence):
            return tuple(one for item in self.list_items() for one in item.list_entries())
        entries = self.node.entries if isinstance(self.node, Mapping) else ()
        return tuple(At(one.value, (*self.path, one.key), one.line, one.column) for one in entries)

    def list_items(self) -> tuple["At", ...]:
        """List the items of a list. A single value counts as a list of one."""
        if isinstance(self.node, Sequence):
            return tuple(
                At(item, (*self.path, str(number)), item.line, item.column)
                for number, item in enumerate(self.node.items)
            )
        return () if self.is_missing else (self,)

    @property
    def key(self) -> str:
        return self.path[-1] if self.path else ""

    @property
    def is_missing(self) -> bool:
        """Return whether the value is missing or null."""
        return self.node is None or (isinstance(self.node, Scalar) and self.node.value is None)

    @property
    def is_map(self) -> bool:
        return isinstance(self.node, Mapping)

    @property
    def is_list(self) -> bool:
        return isinstance(self.node, Sequence)

    @property
    def text(self) -> str:
        """The written text of a scalar, otherwise ""."""
        return self.node.text if isinstance(self.node, Scalar) and not self.is_missing else ""

    @property
    def value(self) -> Json:
        return None if self.node is None else convert_to_plain(self.node)


class Fate(StrEnum):
    """The result for a key. If one key has several, the first of them counts."""

    NOT_CARRIED = "notCarried"
    CHANGED = "changed"
    CARRIED = "carried"
    DROPPED = "dropped"


_ORDER = list(Fate)


class Note(Struct, frozen=True, kw_only=True):
    """The result for a key and everything below it."""

    fate: Fate
    path: Path = ()
    line: int = 0
    column: int = 0
    code: str = ""
    reason: str = ""
    # For `notCarried`, the way to do it by hand. For `changed`, the new value.
    advice: str = ""
    # Whether keys below without a note have this result.
    covers: bool = True
    # Whether the value is a credential, which no report shows.
    is_hidden: bool = False


class Settled(NamedTuple):
    """The result for each leaf of the source, and the notes to report."""

    leaves: dict[Path, Fate]
    notes: tuple[Note, ...]

    def count(self, fate: Fate) -> int:
        return sum(one is fate for one in self.leaves.values())

    def select(self, fate: Fate) -> tuple[Note, ...]:
        return tuple(one for one in self.notes if one.fate is fate)


class Ledger:
    """Collects the result for each key of a source."""

    def __init__(self) -> None:
        self._notes: dict[tuple[Path, Fate, str], Note] = {}
        # The first reason of a lost key counts: others follow from it. A file can have several.
        self._lost: set[Path] = set()

    def carry(self, *values: At) -> None:
        for at in values:
            self._add(at, Note(fate=Fate.CARRIED))

    def change(self, at: At, reason: str, new: str = "") -> None:
        """Note a key whose meaning or value changed."""
        self._add(at, _build_change(reason, new))

    def remark(self, at: At, reason: str, new: str = "") -> None:
        """Note a change that is about a section as a whole, not about each key in it."""
        self._add(at, replace(_build_change(reason, new), covers=False))

    def hide(self, at: At, new: str) -> None:
        """Note a credential that a reference replaces."""
        reason = "the value of a credential is not copied; set the variable in .env"
        self._add(at, replace(_build_change(reason, new), is_hidden=True))

    def lose(self, at: At, reason: str, hint: str = "", code: str = "import/not-carried") -> None:
        """Note a key that fabric has no equivalent for."""
        self._add(at, Note(fate=Fate.NOT_CARRIED, code=code, reason=reason, advice=hint))

    def drop(self, at: At, reason: str) -> None:
        """Note a key that only the other tool uses."""
        self._add(at, Note(fate=Fate.DROPPED, code="import/dropped", reason=reason))

    def drop_unused(self, section: At, reason: str) -> None:
        """Note the keys of a section that have no other note."""
        used = {path[:length] for path, _, _ in self._notes for length in range(len(path) + 1)}
        for at in section.list_items() if section.is_list else section.list_entries():
            if at.path not in used:
                self.drop(at, reason)
            elif at.is_map or at.is_list:
                self.drop_unused(at, reason)

    def _add(self, at: At, note: Note) -> None:
        if at.node is None and note.fate is not Fate.CHANGED:
            return
        if note.fate is Fate.NOT_CARRIED and at.node != EMPTY:
            if at.path in self._lost:
                return
            self._lost.add(at.path)
        placed = replace(note, path=at.path, line=at.line, column=at.column)
        self._notes.setdefault((at.path, note.fate, note.reason), placed)

    def settle(self, root: Node) -> Settled:
        """Find the result for each leaf. A leaf without a note gets that of the nearest key above.

        A variable of a leaf has values with notes below the leaf.
        """
        exact = _choose_by_path((one.path, one) for one in self._notes.values() if one.covers)
        below = _choose_by_path(
            (one.path[:length], one)
            for one in self._notes.values()
            for length in range(1, len(one.path) + 1)
        )
        leaves: dict[Path, Fate] = {}
        unknown: list[At] = []
        for leaf in (one for one in list_leaves(At(root)) if one.path):
            fate = below.get(leaf.path) or _find_above(leaf.path, exact)
            leaves[leaf.path] = fate or Fate.NOT_CARRIED
            if fate is None:
                unknown.append(leaf)
        reported = [one for one in self._notes.values() if one.fate is not Fate.CARRIED]
        reported += _note_unknown(At(root), unknown, leaves)
        return Settled(leaves, tuple(sorted(reported, key=lambda one: (one.line, one.column))))


def _build_change(reason: str, new: str) -> Note:
    return Note(fate=Fate.CHANGED, code="import/changed", reason=reason, advice=new)


def _choose_by_path(notes: Iterable[tuple[Path, Note]]) -> dict[Path, Fate]:
    chosen: dict[Path, Fate] = {}
    for path, note in notes:
        old = chosen.get(path)
        if old is None or _ORDER.index(note.fate) < _ORDER.index(old):
            chosen[path] = note.fate
    return chosen


def _find_above(path: Path, exact: dict[Path, Fate]) -> Fate | None:
    for length in range(len(path) - 1, -1, -1):
        if path[:length] in exact:
            return exact[path[:length]]
    return None


def list_leaves(at: At) -> Iterator[At]:
    """List the scalars and empty collections of a value."""
    children = at.list_items() if at.is_list else at.list_entries()
    if not children:
        yield at
    for child in children:
        yield from list_leaves(child)


def _note_unknown(root: At, unknown: Iterable[At], leaves: dict[Path, Fate]) -> Iterator[Note]:
    """Report the largest parts of the source of which no leaf has a note."""
    lost = {one.path for one in unknown}
    known = {
        path[:length] for path in leaves if path not in lost for length in range(len(path) + 1)
    }
    tops: dict[Path, At] = {}
    for leaf in (one for one in list_leaves(root) if one.path in lost):
        length = next(n for n in range(1, len(leaf.path) + 1) if leaf.path[:n] not in known)
        at = root if length == len(leaf.path) else find_path(root, leaf.path[:length])
        tops.setdefault(leaf.path[:length], leaf if length == len(leaf.path) else at)
    for path, at in tops.items():
        yield Note(
            fate=Fate.NOT_CARRIED,
            path=path,
            line=at.line,
            column=at.column,
            code="import/unknown-key",
            reason="unknown key",
        )


def find_path(root: At, path: Path) -> At:
    """Find a value by its path, also through lists."""
    found = root
    for key in path:
        children = found.list_items() if found.is_list else found.list_entries()
        found = next((one for one in children if one.key == key), At(None, (*found.path, key)))
    return found


def find_path_at(root: Node, line: int, column: int) -> Path:
    """Find the path of the key at a place of the source."""
    waiting = [At(root)]
    while waiting:
        at = waiting.pop()
        if at.path and (at.line, at.column) == (line, column):
            return at.path
        waiting += at.list_items() if at.is_list else at.list_entries()
    return ()
