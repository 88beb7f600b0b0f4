"""Shapes that describe documents, for both `check` and the JSON Schema."""

import re
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from fabric.model.outcomes.json_struct import Json


def match_whole(pattern: str) -> str:
    """Anchor a pattern to the whole text. Python's `$` would accept a final line break."""
    return f"^(?:{pattern})$(?!\\n)"


class Text(Struct, frozen=True):
    """Text. `rule` describes `pattern`; `code` is the problem code of a violation."""

    pattern: str = ""
    rule: str = ""
    code: str = "config/bad-value"
    compiled: re.Pattern[str] | None = None

    def __post_init__(self) -> None:
        if self.pattern:
            force_setattr(self, "compiled", re.compile(self.pattern))

    def fits(self, text: str) -> bool:
        return self.compiled is None or self.compiled.search(text) is not None


class Word(Struct, frozen=True):
    """Any scalar but null, taken as the text that was written: `8080` is "8080"."""


class OneOf(Struct, frozen=True):
    words: tuple[str, ...]
    noun: str
    code: str = "config/bad-value"
    # Returns a hint for an unknown word, or "". Default: the nearest of `words`.
    suggest: Callable[[str], str] | None = None
    # Accepts words that are known only at run time.
    accepts: Callable[[str], bool] | None = None


class Integer(Struct, frozen=True):
    low: int
    high: int | None = None
    # As messages name the value.
    noun: str = "a whole number"


class Number(Struct, frozen=True):
    """A number, with fractions allowed."""

    low: float
    high: float


class Flag(Struct, frozen=True):
    """true or false."""


class Anything(Struct, frozen=True):
    """Passed through as it is."""


class Many(Struct, frozen=True):
    item: "Shape"
    least: int = 0


class Table(Struct, frozen=True):
    """A map with free keys. `key` restricts their form."""

    value: "Shape"
    key: Text = field(default_factory=Text)
    sample: str = "NAME"


class Field(Struct, frozen=True):
    name: str
    shape: "Shape"
    doc: str
    example: Json
    required: bool = False


# What keys of the user's own begin with.
ASIDE = "x-"


class Fields(Struct, frozen=True):
    """A map with known keys. `is_open` accepts other keys with a warning.

    Keys with the prefix `aside` contain the user's anchors and are ignored.
    """

    fields: tuple[Field, ...]
    is_open: bool = False
    # Names keys of which exactly one is required.
    one_of: tuple[str, ...] = ()
    aside: str = ""
    # Accepts keys that are known only at run time, with any value.
    accepts: Callable[[str], bool] | None = None
    # Its definition in the JSON Schema, for maps that several places have. Maps of one name differ
    # only in what is required.
    definition: str = ""
    # The hint for an unknown key without a similar one. Default: the known keys.
    hint: str = ""
    index: dict[str, "Shape"] = field(default_factory=dict)
    required: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        force_setattr(self, "index", {item.name: item.shape for item in self.fields})
        needed = frozenset(item.name for item in self.fields if item.required)
        force_setattr(self, "required", needed)


class Named(Struct, frozen=True):
    """A list of entries with a `name`, or a map from name to entry."""

    entry: Fields
    least: int = 0
    key: Text = field(default_factory=Text)
    nameless: Fields = Fields(())

    def __post_init__(self) -> None:
        """Make the name optional in map entries, because the key is the name."""
        fields = (
            replace(item, required=item.required and item.name != "name")
            for item in self.entry.fields
        )
        force_setattr(self, "nameless", replace(self.entry, fields=tuple(fields)))


class Kinds(Struct, frozen=True):
    """A map whose `type` determines its keys."""

    kinds: tuple[tuple[str, Fields], ...]
    noun: str
    code: str
    # The name of its definition in the JSON Schema. Default: the last word of the noun.
    definition: str = ""


class Either(Struct, frozen=True):
    """The first of the shapes that fits."""

    shapes: "tuple[Shape, ...]"


Shape: TypeAlias = (
    Text
    | Word
    | OneOf
    | Integer
    | Number
    | Flag
    | Anything
    | Many
    | Table
    | Fields
    | Named
    | Kinds
    | Either
)


SERVICE_NAME = Text(
    match_whole("[A-Za-z0-9][A-Za-z0-9_-]{0,62}"),
    "1 to 63 characters: letters, digits, `_` or `-`, starting with a letter or digit",
)
