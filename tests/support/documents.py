"""Documents that fit a shape, and small damage done to them."""

from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st

from fabric.config.schema.shapes import (
    Anything,
    Either,
    Fields,
    Flag,
    Integer,
    Kinds,
    Many,
    Named,
    Number,
    OneOf,
    Shape,
    Table,
    Text,
    Word,
)

_LETTERS = st.characters(min_codepoint=33, max_codepoint=126)
_WORDS = st.text(_LETTERS, max_size=8)
_BINDINGS = st.sampled_from(["${env:SIZE,5}", "${stage}", "a ${secret:KEY} b", "${env:"])
_NUMBERS = st.integers(-5, 20_000) | st.sampled_from([1.0, 2.5, 1e20, -0.5])
SCALARS = _WORDS | _NUMBERS | st.booleans() | st.none() | _BINDINGS
_PIECES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(_WORDS, SCALARS, max_size=2)
_MOST = 2


def documents(shape: Shape) -> st.SearchStrategy[Any]:
    return _MAKERS[type(shape)](shape)


@cache
def _matching(pattern: str) -> st.SearchStrategy[str]:
    alphabet = st.characters(min_codepoint=32, max_codepoint=126)
    return st.from_regex(pattern, alphabet=alphabet)


def _text(shape: Text) -> st.SearchStrategy[Any]:
    return _matching(shape.pattern) if shape.pattern else _WORDS


def _fields(shape: Fields) -> st.SearchStrategy[Any]:
    parts = {field.name: documents(field.shape) for field in shape.fields}
    needed = {name: parts[name] for name in sorted(shape.required)}
    free = {
        name: part
        for name, part in parts.items()
        if name not in shape.required and name not in shape.one_of
    }
    base = _few_of(needed, free)
    if not shape.one_of:
        return base
    chosen = st.one_of([st.fixed_dictionaries({name: parts[name]}) for name in shape.one_of])
    return st.builds(lambda left, right: left | right, base, chosen)


def _few_of(needed: dict[str, Any], free: dict[str, Any]) -> st.SearchStrategy[Any]:
    """All that is needed and a few of the rest, or documents would grow without end."""

    def with_names(names: list[str]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries(needed | {name: free[name] for name in names})

    if not free:
        return st.fixed_dictionaries(needed)
    names = st.lists(st.sampled_from(sorted(free)), max_size=3, unique=True)
    return names.flatmap(with_names)


def _table(shape: Table) -> st.SearchStrategy[Any]:
    return st.dictionaries(_text(shape.key), documents(shape.value), max_size=_MOST)


def _named(shape: Named) -> st.SearchStrategy[Any]:
    listed = st.lists(_fields(shape.entry), min_size=shape.least, max_size=_MOST)
    by_name = st.dictionaries(
        _text(shape.key), _fields(shape.nameless), min_size=shape.least, max_size=_MOST
    )
    return listed | by_name


def _integer(shape: Integer) -> st.SearchStrategy[Any]:
    high = shape.low + 100 if shape.high is None else shape.high
    return st.integers(shape.low, high) | st.just(float(high))


_MAKERS: dict[type, Callable[[Any], st.SearchStrategy[Any]]] = {
    Text: _text,
    Word: lambda _: _WORDS | _NUMBERS | st.booleans(),
    OneOf: lambda shape: st.sampled_from([str(word) for word in shape.words]),
    Integer: _integer,
    Number: lambda shape: (
        st.floats(shape.low, shape.high) | st.just(max(int(shape.high), shape.low))
    ),
    Flag: lambda _: st.booleans(),
    Anything: lambda _: _PIECES,
    Many: lambda shape: st.lists(documents(shape.item), min_size=shape.least, max_size=_MOST),
    Table: _table,
    Fields: _fields,
    Named: _named,
    Kinds: lambda shape: st.one_of([_fields(fields) for _, fields in shape.kinds]),
    Either: lambda shape: st.one_of([documents(option) for option in shape.shapes]),
}


def _is_lucky(draw: st.DrawFn) -> bool:
    return bool(draw(st.sampled_from([0, 1])))


@st.composite
def mutations(draw: st.DrawFn, document: Any) -> Any:
    """The document with one spot of it dropped, replaced, or joined by something new."""
    if isinstance(document, dict) and document and _is_lucky(draw):
        key = draw(st.sampled_from(sorted(document)))
        return document | {key: draw(mutations(document[key]))}
    if isinstance(document, list) and document and _is_lucky(draw):
        spot = draw(st.integers(0, len(document) - 1))
        return [*document[:spot], draw(mutations(document[spot])), *document[spot + 1 :]]
    if isinstance(document, dict) and _is_lucky(draw):
        return _damaged_map(draw, document)
    return draw(_PIECES)


def _damaged_map(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    if document and _is_lucky(draw):
        dropped = draw(st.sampled_from(sorted(document)))
        return {key: value for key, value in document.items() if key != dropped}
    return document | {draw(_WORDS): draw(_PIECES)}
