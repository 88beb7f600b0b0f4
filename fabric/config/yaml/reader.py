"""Parse bytes into a tree in one guarded pass over YAML events. Hostile input gives a problem.

Composing loaders are not used: libyaml's crashes on deep nesting, and both expand aliases without
limit. Events arrive one by one, so every limit is checked before memory is used.
"""

import re
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from fabric.config.yaml.builder import (
    MAX_DEPTH,
    MAX_EXPANDED,
    MAX_NODES,
    TreeBuilder,
    tag_error,
    too_big_error,
    too_many_aliases_error,
)
from fabric.config.yaml.decoding import decode
from fabric.config.yaml.frames import YamlEvent, YamlEvents
from fabric.config.yaml.nodes import Node
from fabric.model.problems import FabricError, Place, Problem

_BEST_LOADER: Callable[[str], YamlEvents] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_END: type[object] = StreamEndEvent
_DOCUMENTS, _ALIASES = frozenset((DocumentStartEvent,)), frozenset((AliasEvent,))
_VALUES = frozenset((ScalarEvent, MappingStartEvent, SequenceStartEvent))
_DEPTHS = {MappingStartEvent: 1, SequenceStartEvent: 1, MappingEndEvent: -1, SequenceEndEvent: -1}
# About as many of them as values stand in what people and programs write.
_SIGNS = (":", ",", "[", "{", "- ", "\n")
# Tag directives are compared pairwise by libyaml, so many of them take quadratic time.
_TAG_DIRECTIVE = re.compile(r"^%TAG", re.MULTILINE)


class Document(NamedTuple):
    """The document of a file, its text, and its warnings."""

    root: Node
    text: str
    warnings: tuple[Problem, ...] = ()


def read(
    file: str,
    raw: bytes,
    loader: Callable[[str], YamlEvents] = _BEST_LOADER,
    *,
    keeps_tags: bool = False,
    as_pyyaml: bool = False,
) -> Document:
    """Read the document of a file. Raises all damage as problems with places.

    With `keeps_tags` it can contain the short forms of CloudFormation functions. With `as_pyyaml`
    the rules are those of YAML 1.1, and the last of several equal keys counts, with a warning.
    """
    text = decode(file, raw)
    _refuse_tag_directives(file, text)
    if not keeps_tags and sum(map(text.count, _SIGNS)) > MAX_NODES:
        _refuse_too_many(file, loader(text))
    try:
        builder = TreeBuilder(file, keeps_tags=keeps_tags, as_pyyaml=as_pyyaml)
        return _build(builder, file, text, loader(text))
    except yaml.MarkedYAMLError as error:
        raise FabricError(_make_syntax_problem(file, error, text)) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise FabricError(Problem("config/syntax", f"{error}", where=Place(file))) from error


def _refuse_tag_directives(file: str, text: str) -> None:
    found = _TAG_DIRECTIVE.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        where = Place(file, line, 1)
        raise FabricError(Problem("config/tag", "tag directives are not allowed", where=where))


def _refuse_too_many(file: str, loader: YamlEvents) -> None:
    """Count the values first if there are probably too many, without building nodes.

    Other errors are reported by the reader.
    """
    values = depth = documents = aliases = 0
    try:
        while True:
            event = loader.get_event()
            kind: type[object] = type(event)
            values += kind in _VALUES
            depth += _DEPTHS.get(kind, 0)
            documents += kind in _DOCUMENTS
            aliases += kind in _ALIASES
            if kind is _END or depth > MAX_DEPTH or documents > 1:
                return
            if (tag := getattr(event, "tag", None)) is not None:
                raise tag_error(file, event, tag)
            if values > MAX_NODES:
                raise too_big_error(file, event)
            if aliases > MAX_EXPANDED:  # each stands for one value at the least
                raise too_many_aliases_error(file, event)
    except (yaml.YAMLError, ValueError, OverflowError):
        return
    finally:
        loader.dispose()


def _make_syntax_problem(file: str, error: yaml.MarkedYAMLError, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    where = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    if mark and _is_indented_by_tab(text, mark.line):
        message = "the line is indented with a tab"
        return Problem("config/syntax", message, "indent with spaces", where)
    words = ", ".join(part for part in (error.context, error.problem) if part)
    return Problem("config/syntax", f"the file is not valid YAML: {words}", where=where)


def _is_indented_by_tab(text: str, number: int) -> bool:
    line = text.split("\n")[number] if number <= text.count("\n") else ""
    return "\t" in line[: len(line) - len(line.lstrip())]


def _build(builder: TreeBuilder, file: str, text: str, loader: YamlEvents) -> Document:
    steps: dict[type, Callable[..., None]] = {
        ScalarEvent: builder.scalar,
        MappingStartEvent: builder.open,
        SequenceStartEvent: builder.open,
        MappingEndEvent: builder.close,
        SequenceEndEvent: builder.close,
        AliasEvent: builder.alias,
        DocumentStartEvent: _require_one_document(file),
        StreamStartEvent: _ignore_event,
        DocumentEndEvent: _ignore_event,
    }
    try:
        next_event = loader.get_event
        while type(event := next_event()) is not _END:
            steps[type(event)](event)
    finally:
        loader.dispose()
    return Document(builder.finish(), text, tuple(builder.warnings))


def _ignore_event(_: YamlEvent) -> None:
    """Ignore events without content."""


def _require_one_document(file: str) -> Callable[[YamlEvent], None]:
    starts = count()

    def start(event: YamlEvent) -> None:
        if next(starts):
            where = Place(file, event.start_mark.line + 1, event.start_mark.column + 1)
            message = "the file contains a second YAML document"
            raise FabricError(Problem("config/documents", message, where=where))

    return start
