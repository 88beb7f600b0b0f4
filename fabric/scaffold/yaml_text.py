"""A new entry as YAML text, written the way the file around it is written."""

import json
import re
from collections.abc import Sequence as Items

from msgspec import Struct

from fabric.config.yaml.nodes import (
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    has_leading_zero,
    interpret_scalar,
)
from fabric.model.outcomes.json_struct import Json

# Text that every YAML reader takes for itself, unquoted, also inside of brackets.
_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./:()@*+=-]*(?: [A-Za-z0-9_./()@*+=]+)*")
_PLAIN_IN_BLOCK = re.compile(r"[A-Za-z_./][A-Za-z0-9_./:()@*+={},?-]*(?: [A-Za-z0-9_./()@*+=?]+)*")
# Words that readers of YAML 1.1 take for something else.
_ELSE = frozenset(("y", "n", "yes", "no", "on", "off", "null", "true", "false", ".nan", ".inf"))
_SINGLE = re.compile(r"[ -~\xa1-\ud7ff]*")


class FileStyle(Struct, frozen=True):
    """The style. `step` indents nested maps, `dash` lists in maps. `after_dash` is the distance
    from dash to item; `pad` is the space inside braces.

    With `is_flow` the entry, or only its lists, are in flow style. With `is_json` all texts are
    quoted; with `quotes_colons` texts such as `GET:/x` are.
    """

    newline: str = "\n"
    quote: str = '"'
    step: int = 2
    dash: int = 2
    after_dash: int = 2
    pad: str = ""
    is_json: bool = False
    is_flow: bool = False
    flow_lists: bool = False
    quotes_colons: bool = False


def build_tree(value: Json) -> Node:
    """The nodes that a reader would make of a value, without places."""
    if isinstance(value, dict):
        entries = (KeyValue(str(key), 0, 0, build_tree(one)) for key, one in value.items())
        return Mapping(tuple(entries), 0, 0)
    if isinstance(value, list | tuple):
        return Sequence(tuple(map(build_tree, value)), 0, 0)
    if isinstance(value, Scalar):
        return value
    if isinstance(value, str):
        return Scalar(value, value, 0, 0)
    return parse_leaf(json.dumps(value))


def parse_leaf(text: str) -> Scalar:
    """Parse a typed word: a number or flag if JSON and YAML agree."""
    try:
        value = interpret_scalar(text) if text and json.dumps(json.loads(text)) == text else text
    except ValueError:
        value = text
    return Scalar(value, text, 0, 0)


def format_flow(node: Node, style: FileStyle) -> str:
    """The value on one line."""
    match node:
        case Scalar():
            return _format_scalar(node, style, _PLAIN)
        case Sequence(items=items):
            return "[" + ", ".join(format_flow(item, style) for item in items) + "]"
        case Mapping(entries=()):
            return "{}"
        case Mapping(entries=entries):
            pairs = ", ".join(
                f"{_format_key(one.key, style)}: {format_flow(one.value, style)}" for one in entries
            )
            return f"{{{style.pad}{pairs}{style.pad}}}"


def format_flow_pair(entry: KeyValue, style: FileStyle) -> str:
    return f"{_format_key(entry.key, style)}: {format_flow(entry.value, style)}"


def map_lines(entries: Items[KeyValue], style: FileStyle) -> list[str]:
    """The entries of a map in lines, the first one without indentation."""
    return [line for entry in entries for line in format_entry(entry, style)]


def format_entry(entry: KeyValue, style: FileStyle) -> list[str]:
    key = _format_key(entry.key, style)
    match entry.value:
        case Mapping(entries=(_, *_)) as inner if not style.is_flow:
            return [f"{key}:", *_shift_lines(map_lines(inner.entries, style), style.step)]
        case Sequence(items=(_, *_) as items) if not (style.is_flow or style.flow_lists):
            return [f"{key}:", *_shift_lines(list_lines(items, style), style.dash)]
        case Scalar() as scalar:
            return [f"{key}: {_format_scalar(scalar, style, _PLAIN_IN_BLOCK)}"]
        case value:
            return [f"{key}: {format_flow(value, style)}"]


def list_lines(items: Items[Node], style: FileStyle) -> list[str]:
    return [line for item in items for line in _format_item(item, style)]


def _format_item(item: Node, style: FileStyle) -> list[str]:
    dash = "-".ljust(style.after_dash)
    if style.is_flow or not isinstance(item, Mapping):
        return [f"{dash}{format_flow(item, style)}"]
    first, *rest = map_lines(item.entries, style)
    return [f"{dash}{first}", *_shift_lines(rest, style.after_dash)]


def _shift_lines(lines: Items[str], columns: int) -> list[str]:
    return [" " * columns + line for line in lines]


def _format_key(key: str, style: FileStyle) -> str:
    return _format_scalar(Scalar(key, key, 0, 0), style, _PLAIN)


def _format_scalar(scalar: Scalar, style: FileStyle, plain: re.Pattern[str]) -> str:
    text = scalar.text
    if not isinstance(scalar.value, str):
        return text
    is_quoted = style.is_json or (style.quotes_colons and ":" in text)
    if not is_quoted and plain.fullmatch(text) and _is_read_as_text(text):
        return text
    if style.quote == "'" and not style.is_json and _SINGLE.fullmatch(text):
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text) if style.is_json else _quote(text)


def _quote(text: str) -> str:
    """Quote a text. YAML has no pairs of escapes for one character, as JSON has."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in quoted)


def is_plain_safe(text: str) -> bool:
    """Return whether an unquoted text keeps its meaning on its own line."""
    return _PLAIN_IN_BLOCK.fullmatch(text) is not None and _is_read_as_text(text)


def _is_read_as_text(text: str) -> bool:
    is_word = text.lower() not in _ELSE and ": " not in f"{text} "
    return is_word and interpret_scalar(text) is text and not has_leading_zero(text)
