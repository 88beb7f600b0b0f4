"""Bytes to a tree of nodes in one guarded pass over YAML events; hostile input ends in a problem.

The composing loaders are not used: libyaml's crashes on deep nesting, both expand aliases without
a limit. Events come one by one, so every limit is checked before memory is spent on what follows.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from fabric.config.builder import Builder
from fabric.config.decode import decode
from fabric.config.nodes import Node, Scalar
from fabric.config.scalars import NumberTooLongError, has_leading_zero, meaning_of
from fabric.model.problems import FabricError, Place, Problem

_BEST_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Tag directives are compared pairwise by libyaml, so many of them take quadratic time.
_TAG_DIRECTIVE = re.compile(r"^%TAG", re.MULTILINE)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Document(NamedTuple):
    """The one document of a file, its text, and what deserves a word without being wrong."""

    root: Node
    text: str
    warnings: tuple[Problem, ...] = ()


def read(file: str, raw: bytes, loader: Any = _BEST_LOADER) -> Document:
    """The document of a file; raises every kind of damage as problems with their places."""
    text = decode(file, raw)
    _refuse_tag_directives(file, text)
    reading = _Reading(file)
    try:
        reading.consume(_events(loader(text)))
    except yaml.MarkedYAMLError as error:
        raise FabricError(_syntax_problem(file, error)) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise FabricError(Problem("config/syntax", f"{error}", where=Place(file))) from error
    return reading.document(text)


def _events(loader: Any) -> Iterator[Any]:
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


def _refuse_tag_directives(file: str, text: str) -> None:
    found = _TAG_DIRECTIVE.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        where = Place(file, line, 1)
        raise FabricError(Problem("config/tag", "tag directives are not allowed", where=where))


def _syntax_problem(file: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    where = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    words = ", ".join(part for part in (error.context, error.problem) if part)
    hint = "indent with spaces; YAML takes no tabs there" if "'\\t'" in words else ""
    return Problem("config/syntax", f"the file is not valid YAML: {words}", hint, where)


class _Reading:
    """One pass over the events: looks each event up and hands it to the builder."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._builder = Builder(file)
        self._warnings: list[Problem] = []
        self._documents = 0

    def consume(self, events: Iterator[Any]) -> None:
        steps = {
            ScalarEvent: self._scalar,
            MappingStartEvent: self._start,
            SequenceStartEvent: self._start,
            MappingEndEvent: self._end,
            SequenceEndEvent: self._end,
            AliasEvent: self._alias,
            DocumentStartEvent: self._document,
        }
        for event in events:
            step = steps.get(type(event))
            if step is not None:
                step(event)

    def document(self, text: str) -> Document:
        root = self._builder.finish()
        return Document(root, text, tuple(self._warnings))

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise self._refusal(event, "config/documents", "the file holds a second document")

    def _scalar(self, event: Any) -> None:
        if event.tag is not None:
            raise self._refusal(event, "config/tag", f"the tag {event.tag!r} is not allowed")
        text, mark = event.value, event.start_mark
        if not text.isascii() and _SURROGATE.search(text):
            raise self._refusal(event, "config/encoding", "half of a surrogate pair in the text")
        node = Scalar(
            self._meaning(event) if event.implicit[0] else text,
            text,
            mark.line + 1,
            mark.column + 1,
        )
        self._builder.add(node, event.anchor, event.implicit[0])

    def _meaning(self, event: Any) -> Any:
        try:
            value = meaning_of(event.value)
        except NumberTooLongError as error:
            message = "a number has more than 64 digits"
            raise self._refusal(event, "config/number", message, "put it in quotes") from error
        if value is event.value and has_leading_zero(event.value):
            self._warnings.append(_zero_warning(self._where(event), event.value))
        return value

    def _start(self, event: Any) -> None:
        if event.tag is not None:
            raise self._refusal(event, "config/tag", f"the tag {event.tag!r} is not allowed")
        mark = event.start_mark
        is_mapping = type(event) is MappingStartEvent
        self._builder.open(mark.line + 1, mark.column + 1, event.anchor, is_mapping=is_mapping)

    def _end(self, _: Any) -> None:
        self._builder.close()

    def _alias(self, event: Any) -> None:
        self._builder.alias(event.anchor, self._where(event))

    def _where(self, event: Any) -> Place:
        return Place(self._file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _refusal(self, event: Any, code: str, message: str, hint: str = "") -> FabricError:
        return FabricError(Problem(code, message, hint, self._where(event)))


def _zero_warning(where: Place, text: str) -> Problem:
    message = f"`{text[:32]}` has a leading zero and is read as text"
    return Problem("config/leading-zero", message, "put it in quotes to say so", where)
