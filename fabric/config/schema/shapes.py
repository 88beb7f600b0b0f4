"""The vocabulary for saying what a document may hold. Both `check` and the JSON Schema read it."""

import re
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias


def whole(pattern: str) -> str:
    """The pattern for a whole text. Python's `$` alone would let a line break pass at the end."""
    return f"^(?:{pattern})$(?!\\n)"


@dataclass(frozen=True, slots=True)
class Text:
    """Text; `rule` says in words what `pattern` asks for, `code` what breaking it is called."""

    pattern: str = ""
    rule: str = ""
    code: str = "config/bad-value"
    _compiled: re.Pattern[str] | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.pattern:
            object.__setattr__(self, "_compiled", re.compile(self.pattern))

    def fits(self, text: str) -> bool:
        return self._compiled is None or self._compiled.search(text) is not None


@dataclass(frozen=True, slots=True)
class Word:
    """Any scalar but null, taken as the text that was written: `8080` is "8080"."""


@dataclass(frozen=True, slots=True)
class OneOf:
    words: tuple[str, ...]
    noun: str
    code: str = "config/bad-value"


@dataclass(frozen=True, slots=True)
class Integer:
    low: int
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Anything:
    """Passed through as it is."""


@dataclass(frozen=True, slots=True)
class Many:
    item: "Shape"
    least: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A map with free keys; `key` bounds what they may look like."""

    value: "Shape"
    key: Text = field(default_factory=Text)
    sample: str = "NAME"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    shape: "Shape"
    doc: str
    example: Any
    required: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    """A map with known keys. `is_open` passes other keys on with a warning; `one_of` names keys
    of which exactly one must stand."""

    fields: tuple[Field, ...]
    is_open: bool = False
    one_of: tuple[str, ...] = ()
    index: dict[str, "Shape"] = field(init=False, repr=False, compare=False)
    required: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {item.name: item.shape for item in self.fields})
        needed = frozenset(item.name for item in self.fields if item.required)
        object.__setattr__(self, "required", needed)


@dataclass(frozen=True, slots=True)
class Named:
    """A list of entries with a `name`, or a map from name to entry."""

    entry: Fields
    least: int = 0
    key: Text = field(default_factory=Text)
    nameless: Fields = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """In a map the key is the name, so the entry needs none of its own."""
        fields = (
            replace(item, required=item.required and item.name != "name")
            for item in self.entry.fields
        )
        object.__setattr__(self, "nameless", replace(self.entry, fields=tuple(fields)))


@dataclass(frozen=True, slots=True)
class Kinds:
    """A map whose `type` says which keys it has."""

    kinds: tuple[tuple[str, Fields], ...]
    noun: str
    code: str


@dataclass(frozen=True, slots=True)
class Either:
    """The first of the shapes that fits."""

    shapes: "tuple[Shape, ...]"


Shape: TypeAlias = (
    Text | Word | OneOf | Integer | Flag | Anything | Many | Table | Fields | Named | Kinds | Either
)
