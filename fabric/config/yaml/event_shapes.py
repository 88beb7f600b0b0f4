"""The used fields of a YAML library's events, equal in the C and the pure Python loader."""

from typing import Protocol


class YamlMark(Protocol):
    """A place in the text, counted from 0."""

    line: int
    column: int


class YamlEvent(Protocol):
    start_mark: YamlMark


class NodeStart(YamlEvent, Protocol):
    """The start of a value, with an optional anchor and tag."""

    anchor: str | None
    tag: str | None


class LeafEvent(NodeStart, Protocol):
    value: str
    implicit: tuple[bool, bool]


class AliasUse(YamlEvent, Protocol):
    anchor: str


class YamlEvents(Protocol):
    """A loader that returns one event after the other."""

    def get_event(self) -> YamlEvent: ...
    def dispose(self) -> None: ...
