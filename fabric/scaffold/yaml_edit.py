"""Insert an entry into a config without changing other text.

Steps: bytes, nodes and spans, candidate insertions, the first that parses to old plus new, bytes.
"""

import codecs

from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, find
from fabric.config.yaml.problems import error_of, open_document
from fabric.config.yaml.reader import Document, read
from fabric.config.yaml.spans import Span, spans_of
from fabric.model.problems import FabricError, Place, Problem
from fabric.scaffold.yaml_lines import changed
from fabric.scaffold.yaml_places import Addition, WayIn, obstacle, ways


def with_addition(file: str, raw: bytes, addition: Addition) -> bytes:
    """Return the file with the new entry in its section. Raises if no insertion works."""
    document = open_document(file, raw)
    root = spans_of(document.text)
    for way in ways(document.text, root, addition):
        text = changed(document.text, way.changes)
        if _reads_as_meant(file, text, _wanted(document.root, addition, way)):
            mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
            return mark + text.encode()
    raise error_of(file, document.text, [_given_up(document, root, addition)])


def _reads_as_meant(file: str, text: str, wanted: object) -> bool:
    try:
        new = read(file, text.encode()).root
    except FabricError as error:
        if error.first.code == "config/too-big":
            raise
        return False
    return _bare(new) == wanted


def _wanted(old: Node, addition: Addition, way: WayIn) -> object:
    """The old document and the new entry, without places."""
    bare = _bare(old)
    if not isinstance(bare, dict):
        return None
    held = bare.get(addition.section)
    if way.is_map:
        entries = held if isinstance(held, dict) else {}
        return {**bare, addition.section: {**entries, addition.name: _bare(addition.entry)}}
    items = held if isinstance(held, list) else []
    at = len(items) - way.before
    item = _bare(addition.as_item)
    return {**bare, addition.section: [*items[:at], item, *items[at:]]}


def _bare(node: Node) -> object:
    match node:
        case Scalar(value, text):
            return type(value), value, text
        case Sequence(items=items):
            return [_bare(item) for item in items]
        case Mapping(entries=entries):
            return {entry.key: _bare(entry.value) for entry in entries}


def _given_up(document: Document, root: Span, addition: Addition) -> Problem:
    where = find(document.root, addition.section) or document.root
    why = obstacle(root, addition.section)
    message = f"cannot add `{addition.name}` without rewriting the file: {why}"
    hint = "add the entry by hand, or write the section without aliases"
    return Problem("config/not-extended", message, hint, Place("", where.line, where.column))
