"""The start and end of every value in a YAML text, for text edits.

Built from tokens of the same library, and only for edits. The text was read before, so it is valid
and within limits.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import yaml

from fabric.config.yaml.frames import YamlMark

SCALAR, ALIAS, NOTHING, LIST, MAP = "scalar", "alias", "nothing", "list", "map"
_LEAVES = {"<scalar>": SCALAR, "<alias>": ALIAS}
_NAMES = ("<anchor>", "<tag>")
_AROUND = ("<stream start>", "<directive>", "<document start>")
_NO_VALUE = ("?", ":", ",", "]", "}", "<block end>", "<document end>", "<stream end>")


class IndexedMark(YamlMark, Protocol):
    index: int


class YamlToken(Protocol):
    start_mark: IndexedMark
    end_mark: IndexedMark

    @property
    def id(self) -> str: ...


class YamlTokens(Protocol):
    """A loader that returns one token after the other."""

    def get_token(self) -> YamlToken | None: ...
    def dispose(self) -> None: ...


class Piece(NamedTuple):
    """A token. Indices count characters of the text, columns from 0."""

    kind: str
    start: int
    end: int
    column: int
    text: str = ""
    # A scalar's quote.
    style: str = ""


class Span(NamedTuple):
    """A value in the text. `first` is its first token after an anchor, `last` its last visible
    token.

    `comma` follows the last child, or is None.
    """

    kind: str
    first: Piece
    last: Piece
    children: "tuple[SpanChild, ...]" = ()
    comma: Piece | None = None
    anchored: bool = False

    @property
    def is_flow(self) -> bool:
        return self.first.kind in ("[", "{")

    def child(self, key: str) -> "SpanChild | None":
        return next((one for one in self.children if one.key == key), None)


class SpanChild(NamedTuple):
    """An entry of a map or list. `mark` is its dash or key; `colon` is None if absent."""

    mark: Piece
    value: Span
    key: str = ""
    colon: Piece | None = None


_BEST_LOADER: Callable[[str], YamlTokens] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_spans(text: str, loader: Callable[[str], YamlTokens] = _BEST_LOADER) -> Span:
    """The root value of a text that the reader took."""
    walk = _TokenWalk(list(_list_pieces(loader(text))))
    while walk.kind in _AROUND:
        walk.take()
    return walk.value()


def _list_pieces(loader: YamlTokens) -> Iterator[Piece]:
    try:
        while (token := loader.get_token()) is not None:
            start, end = token.start_mark, token.end_mark
            text, style = getattr(token, "value", ""), getattr(token, "style", "")
            yield Piece(
                kind=token.id,
                start=start.index,
                end=end.index,
                column=start.column,
                text=str(text),
                style=style or "",
            )
            if token.id == "<stream end>":
                return
    finally:
        loader.dispose()


class _TokenWalk:
    """A position in the tokens, and the last visible token before it."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces
        self._at = 0
        self.last = pieces[0]

    @property
    def kind(self) -> str:
        return self._pieces[self._at].kind

    def take(self) -> Piece:
        piece = self._pieces[self._at]
        self._at += 1
        if piece.end > piece.start:
            self.last = piece
        return piece

    def value(self, *, in_list: bool = False) -> Span:
        """Parse the value at this position. In a block list a dash begins the next item."""
        anchored = False
        while self.kind in _NAMES:
            anchored = self.take().kind == "<anchor>" or anchored
        kind = self.kind
        if kind in _NO_VALUE or (kind == "-" and in_list):
            return Span(NOTHING, self.last, self.last, anchored=anchored)
        first = self._pieces[self._at]
        if kind in _LEAVES:
            self.take()
            return Span(_LEAVES[kind], first, first, anchored=anchored)
        children, comma = _COLLECTIONS[kind](self)
        name = LIST if kind in ("[", "-", "<block sequence start>") else MAP
        return Span(
            kind=name,
            first=first,
            last=self.last,
            children=tuple(children),
            comma=comma,
            anchored=anchored,
        )

    def block_list(self) -> "_Children":
        is_own = self.kind != "-"
        if is_own:
            self.take()
        children = []
        while self.kind == "-":
            dash = self.take()
            children.append(SpanChild(dash, self.value(in_list=True)))
        if is_own:
            self.take()
        return children, None

    def block_map(self) -> "_Children":
        self.take()
        children = []
        while self.kind != "<block end>":
            children.append(self._parse_entry())
        self.take()
        return children, None

    def flow(self) -> "_Children":
        closing = "]" if self.take().kind == "[" else "}"
        children: list[SpanChild] = []
        comma = None
        while self.kind != closing:
            if self.kind == ",":
                comma = self.take()
                continue
            comma = None
            children.append(
                self._parse_entry() if closing == "}" or self.kind == "?" else self._parse_item()
            )
        self.take()
        return children, comma

    def _parse_item(self) -> SpanChild:
        mark = self._pieces[self._at]
        return SpanChild(mark, self.value())

    def _parse_entry(self) -> SpanChild:
        if self.kind == "?":
            self.take()
        mark = self._pieces[self._at]
        key = self.value()
        colon = self.take() if self.kind == ":" else None
        value = self.value() if colon else Span(NOTHING, self.last, self.last)
        return SpanChild(mark, value, key.first.text, colon)


_Children = tuple[list[SpanChild], Piece | None]
_COLLECTIONS: dict[str, Callable[[_TokenWalk], _Children]] = {
    "-": _TokenWalk.block_list,
    "<block sequence start>": _TokenWalk.block_list,
    "<block mapping start>": _TokenWalk.block_map,
    "[": _TokenWalk.flow,
    "{": _TokenWalk.flow,
}
