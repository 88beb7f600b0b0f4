"""Command results: values that become JSON under their field names."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    Json: TypeAlias = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
else:
    Json = object  # what is read back from JSON is nothing else
JsonObject: TypeAlias = Mapping[str, Json]


class JsonStruct(Struct, frozen=True, rename="camel"):
    """A part of an answer. Fields that are `only_in_words` are for people, and no part of JSON."""

    only_in_words: ClassVar[frozenset[str]] = frozenset()
