"""A config under construction: maps and lists in order, with the lines of the source."""

from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec import Struct

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence, find
from fabric.importing.source import At, Ledger, list_leaves
from fabric.model.late_values import has_late_bindings
from fabric.scaffold.yaml_text import build_tree

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping as Mapping_
    from collections.abc import Sequence as Sequence_

    from fabric.model.outcomes.json_struct import Json

Value: TypeAlias = "Json | Node | Fields | Sequence_[Fields] | Sequence_[Value]"
# The order of the keys in the written file. Others follow.
_ORDER = (
    *("service", "provider", "params", "build", "defaults", "env", "secrets", "layers"),
    *("functions", "workflows", "resources", "extensions", "stages"),
)


class Fields:
    """A map under construction. Empty maps and lists are not written."""

    def __init__(self, at: At | None = None) -> None:
        self._at = at
        self._values: dict[str, Value] = {}
        self._places: dict[str, At | None] = {}

    def put(self, key: str, value: Value, at: At | None = None) -> None:
        self._values[key] = value
        self._places.setdefault(key, at)

    def put_flag(self, key: str, at: At | None = None, *, value: bool) -> None:
        self.put(key, value, at)

    def or_true(self) -> "Value":
        """The map, or `true` for an empty one."""
        return True if self.is_empty else self

    def child(self, key: str, at: At | None = None) -> "Fields":
        """Return the map of this key, created if it is missing."""
        found = self._values.get(key)
        if isinstance(found, Fields):
            return found
        made = Fields(at)
        if isinstance(found, Mapping):
            for entry in found.entries:
                made.put(entry.key, entry.value, At(None, (), entry.line, entry.column))
        self.put(key, made, at)
        return made

    def add(self, key: str, item: Value, at: At | None = None) -> None:
        """Append to the list of this key."""
        found = self._values.get(key)
        made: list[Value] = found if isinstance(found, list) else []
        self._values[key] = made
        self._places.setdefault(key, at)
        made.append(item)

    def has(self, key: str) -> bool:
        return key in self._values

    @property
    def has_code(self) -> bool:
        """Return whether a function has code, or an image with it."""
        return self.has("entry") or self.has("image")

    def get(self, key: str) -> "Value":
        return self._values.get(key)

    def remove(self, key: str) -> None:
        self._values.pop(key, None)

    def list_fields(self, key: str) -> "list[Fields]":
        """List the maps in the list of this key."""
        found = self._values.get(key)
        return [one for one in found if isinstance(one, Fields)] if isinstance(found, list) else []

    def find_late(self, keys: "Collection[str] | None" = None) -> At | None:
        """Find the first of these keys, or of all, with a value that only a deploy knows."""
        for key, value in self._values.items():
            node = _build_node(value) if keys is None or key in keys else None
            leaves = list_leaves(At(node)) if node is not None else ()
            if any(has_late_bindings(one.text.encode()) for one in leaves):
                return self._places[key] or self._at or At(None)
        return None

    @property
    def is_empty(self) -> bool:
        return not self.build().entries

    def build(self) -> Mapping:
        line, column = (self._at.line, self._at.column) if self._at else (0, 0)
        entries = [
            KeyValue(key, at.line if (at := self._places[key]) else 0, 0, node)
            for key, value in self._values.items()
            if (node := _build_node(value)) is not None
        ]
        return Mapping(tuple(entries), line, column)

    def build_config(self, lost: "Collection[str]") -> Mapping:
        """Build the root of a config, in the usual order of its keys. Values that use lost outputs
        of a stack are left out."""
        found = _remove_users(self.build(), lost) if lost else self.build()
        if not isinstance(found, Mapping):
            raise TypeError("a config is a map")
        order = {key: number for number, key in enumerate(_ORDER)}
        entries = sorted(found.entries, key=lambda one: order.get(one.key, len(order)))
        return found._replace(entries=tuple(entries))


def _build_node(value: "Value") -> Node | None:
    if isinstance(value, Fields):
        return None if value.is_empty else value.build()
    if isinstance(value, Scalar | Mapping | Sequence):
        return value
    if isinstance(value, list):
        items = tuple(node for one in value if (node := _build_node(one)) is not None)
        return Sequence(items, 0, 0)
    return build_tree(cast("Json", value))


# A key that each function or workflow has.
_OF_ENTRIES = ("entry", "image", "definition")


def _remove_users(node: Node, lost: "Collection[str]") -> Node | None:
    """Remove the entries and items of a value that use lost outputs."""
    if isinstance(node, Scalar):
        return None if any(f"${{stack:{one}}}" in node.text for one in lost) else node
    if isinstance(node, Sequence):
        pairs = [(one, _remove_users(one, lost)) for one in node.items]
        is_whole = any(find(one, key) for one in node.items for key in _OF_ENTRIES)
        # A trigger or statement without a part has another meaning, so that it is removed whole.
        kept = tuple(
            new
            for one, new in pairs
            if new is not None and (is_whole or _count(one) == _count(new))
        )
        return node._replace(items=kept) if kept or not node.items else None
    entries = (
        one._replace(value=value)
        for one in node.entries
        if (value := _remove_users(one.value, lost)) is not None
    )
    return node._replace(entries=tuple(entries))


def _count(node: Node) -> int:
    """Count the scalars of a value."""
    if isinstance(node, Scalar):
        return 1
    inner = node.items if isinstance(node, Sequence) else [one.value for one in node.entries]
    return sum(map(_count, inner))


def put_params(config: Mapping, params: "Mapping_[str, str]") -> Mapping:
    """Set parameters of a built config."""
    if not params:
        return config
    fields = Fields()
    for one in config.entries:
        fields.put(one.key, one.value, At(None, (), one.line, one.column))
    for name, text in params.items():
        fields.child("params").put(name, text)
    return fields.build_config(())


class StackDraft(Struct, frozen=True):
    """A stack of the imported service: its file, and the template."""

    phase: str
    path: str
    root: Mapping


class NewFile(Struct, frozen=True):
    """A file beside the config. `text` is complete."""

    path: str
    text: str


class Imported(Struct, frozen=True, kw_only=True):
    """The result of a conversion: the config, its stacks and other files, and the notes."""

    config: Mapping
    ledger: Ledger
    stacks: tuple[StackDraft, ...] = ()
    files: tuple[NewFile, ...] = ()
    # Variables that the deploying machine must set.
    variables: tuple[str, ...] = ()
