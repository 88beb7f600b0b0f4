"""Insert an entry into a config without changing other text.

Steps: bytes, nodes and spans, candidate insertions, the first that parses to old plus new, bytes.
"""

import codecs

from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, find
from fabric.config.yaml.problems import make_yaml_error, open_document
from fabric.config.yaml.reader import Document, read
from fabric.config.yaml.spans import Span, parse_spans
from fabric.model.problems import FabricError, Place, Problem
from fabric.scaffold.yaml_lines import apply_text_changes
from fabric.scaffold.yaml_places import Addition, InsertionStrategy, find_obstacle, list_insertions


def with_addition(file: str, raw: bytes, addition: Addition) -> bytes:
    """Return the file with the new entry in its section. Raises if no insertion works."""
    document = open_document(file, raw)
    root = parse_spans(document.text)
    for way in list_insertions(document.text, root, addition):
        text = apply_text_changes(document.text, way.changes)
        if _is_as_expected(file, text, _build_expected(document.root, addition, way)):
            mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
            return mark + text.encode()
    raise make_yaml_error(file, document.text, [_cannot_edit_problem(document, root, addition)])


def _is_as_expected(file: str, text: str, wanted: object) -> bool:
    try:
        new = read(file, text.encode()).root
    except FabricError as error:
        if error.first.code == "config/too-big":
            raise
        return False
    return _strip_places(new) == wanted


def _build_expected(old: Node, addition: Addition, way: InsertionStrategy) -> object:
    """The old document and the new entry, without places."""
    bare = _strip_places(old)
    if not isinstance(bare, dict):
        return None
    held = bare.get(addition.section)
    if way.is_map:
        entries = held if isinstance(held, dict) else {}
        return {**bare, addition.section: {**entries, addition.name: _strip_places(addition.entry)}}
    items = held if isinstance(held, list) else []
    at = len(items) - way.before
    item = _strip_places(addition.as_item)
    return {**bare, addition.section: [*items[:at], item, *items[at:]]}


def _strip_places(node: Node) -> object:
    match node:
        case Scalar(value, text):
            return type(value), value, text
        case Sequence(items=items):
            return [_strip_places(item) for item in items]
        case Mapping(entries=entries):
            return {entry.key: _strip_places(entry.value) for entry in entries}


def _cannot_edit_problem(document: Document, root: Span, addition: Addition) -> Problem:
    where = find(document.root, addition.section) or document.root
    why = find_obstacle(root, addition.section)
    message = f"cannot add `{addition.name}` without rewriting the file: {why}"
    hint = "add the entry by hand, or write the section without aliases"
    return Problem("config/not-extended", message, hint, Place("", where.line, where.column))
