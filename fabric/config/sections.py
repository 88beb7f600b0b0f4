"""Read a checked section into its struct: keys and shapes come from the schema, names and defaults
from the struct."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import fields, replace

from fabric.config.schema.shapes import (
    Anything,
    Fields,
    Flag,
    Integer,
    Many,
    OneOf,
    Table,
    Text,
    Word,
)
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Node, find_child

S = TypeVar("S", bound=Struct)
# The value of a key, or None if the section does not have it.
Reader: TypeAlias = Callable[[Node | None, str], object]


def find_json(node: Node | None, key: str) -> str | None:
    return read.encode_node(find_child(node, key)) or None


_READERS: Mapping[type, Reader] = {
    **dict.fromkeys((Text, Word, OneOf), read.find_text),
    Integer: read.read_optional_integer,
    Flag: read.read_optional_flag,
    Many: read.find_texts,
    Table: read.find_pairs,
    **dict.fromkeys((Anything, Fields), find_json),
}


class Section(Generic[S]):
    """How a struct is read. A key is the camel case of its field, or the one in `keys`. `readers`
    are for values that the shape alone does not describe. `given` fields are set by the caller."""

    def __init__(
        self,
        struct: type[S],
        shape: Fields,
        *,
        keys: Mapping[str, str] | None = None,
        readers: Mapping[str, Reader] | None = None,
        given: tuple[str, ...] = (),
    ) -> None:
        self._struct = struct
        own = [one for one in fields(struct) if one.name not in given]
        names = {one.name: (keys or {}).get(one.name) or _to_camel_case(one.name) for one in own}
        self._readers = tuple(
            (name, key, (readers or {}).get(name) or _READERS[type(shape.index[key])])
            for name, key in names.items()
        )
        # A stage or place that is read alone lacks values that a whole config must have.
        self._empty = {one.name: one.type() for one in own if one.required}

    def read(self, node: Node | None, **given: object) -> S:
        return self._struct(**{**self._empty, **self._find_values(node), **given})

    def merge(self, under: S, node: Node | None) -> S:
        return replace(under, **self._find_values(node))

    def find_child(self, node: Node | None, key: str) -> S | None:
        """Read the section below a key, as a reader of another section."""
        child = find_child(node, key)
        return None if child is None else self.read(child)

    def _find_values(self, node: Node | None) -> dict[str, object]:
        return {
            name: value
            for name, key, reader in self._readers
            if (value := reader(node, key)) is not None
        }


def _to_camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
