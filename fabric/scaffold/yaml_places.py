"""Candidate insertions of an entry, in the order they are tried."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.config.yaml.decoding import LINE_BREAK
from fabric.config.yaml.nodes import KeyValue, Mapping, Scalar
from fabric.config.yaml.spans import ALIAS, LIST, MAP, NOTHING, SCALAR, Span, SpanChild
from fabric.scaffold.yaml_lines import (
    TextChange,
    find_line_end,
    find_line_start,
    find_start_after,
    has_gap_above,
    is_at_line_start,
    is_blank,
)
from fabric.scaffold.yaml_text import (
    FileStyle,
    format_entry,
    format_flow,
    format_flow_pair,
    is_plain_safe,
    list_lines,
)

_NULLS = ("~", "null", "Null", "NULL")


class Addition(Struct, frozen=True):
    """An entry for a section of named entries, without its name."""

    section: str
    name: str
    entry: Mapping

    @property
    def as_item(self) -> Mapping:
        """Return the entry as a list item."""
        name = KeyValue("name", 0, 0, Scalar(self.name, self.name, 0, 0))
        return Mapping((name, *self.entry.entries), 0, 0)

    @property
    def as_pair(self) -> KeyValue:
        """Return the entry as a map pair."""
        return KeyValue(self.name, 0, 0, self.entry)


class InsertionStrategy(Struct, frozen=True):
    """Changes that add the entry: in a map, or in a list before this many of its last items."""

    changes: tuple[TextChange, ...]
    is_map: bool = False
    before: int = 0


class _NewText(Struct, frozen=True):
    text: str
    root: Span
    addition: Addition
    style: FileStyle


def list_insertions(text: str, root: Span, addition: Addition) -> Iterator[InsertionStrategy]:
    """List all candidate insertions; none if the section cannot be extended by text."""
    style = _read_style(text, root, addition.section)
    writer = _NewText(text, root, addition, style)
    found = root.child(addition.section)
    if root.kind != MAP:
        return
    if found is None:
        yield from _insert_section(writer)
    elif found.value.kind in (LIST, MAP):
        yield from _insert_into_section(writer, found)
    elif found.value.kind in (NOTHING, SCALAR):
        yield from _insert_first(writer, found)


def find_obstacle(root: Span, section: str) -> str:
    """Return why the section's form prevents an insertion."""
    found = root.child(section)
    if found is None:
        return f"`{section}` comes from a YAML merge (`<<`), or the file is not a plain mapping"
    if found.value.kind == ALIAS:
        return f"`{section}` is an alias, `*{found.value.first.text}`"
    if found.value.anchored:
        return f"`{section}` has a YAML anchor that other parts of the file use"
    return f"an entry in `{section}` would change other values of the file"


def _insert_into_section(writer: _NewText, section: SpanChild) -> Iterator[InsertionStrategy]:
    """Insert into an existing list or map."""
    value = section.value
    is_map = value.kind == MAP
    if value.is_flow:
        yield InsertionStrategy(
            _insert_in_brackets(writer.text, value, _format_one_line(writer, is_map=is_map)), is_map
        )
        return
    lines = _block_lines(writer, is_map=is_map)
    column, last = value.first.column, value.children[-1]
    lines = [" " * column + line for line in lines]
    gap = len(value.children) > 1 and has_gap_above(writer.text, last.mark.start)
    at = find_start_after(writer.text, value.last, writer.root.first.column)
    yield InsertionStrategy((_put(writer, at, lines, gap=gap),), is_map)
    # A block of text at the end of a file without a last line break would get one.
    if is_at_line_start(writer.text, last.mark):
        at = find_line_start(writer.text, last.mark.start)
        yield InsertionStrategy((_put(writer, at, lines),), is_map, before=1)


def _insert_first(writer: _NewText, section: SpanChild) -> Iterator[InsertionStrategy]:
    """Insert the first entry of an empty section."""
    value, colon = section.value, section.colon
    is_null = value.kind == SCALAR and value.first.text in _NULLS and not value.first.style
    if colon is None or not (is_null or value.kind == NOTHING):
        return
    is_map = _is_using_maps(writer.root)
    start, end = (colon.end, value.first.end) if is_null else (value.last.end, -1)
    if not is_blank(writer.text, colon.end, value.first.start):
        start = value.first.start if is_null else start
    if writer.root.is_flow:
        held = _format_collection(_format_one_line(writer, is_map=is_map), is_map=is_map)
        yield InsertionStrategy((TextChange(start, f" {held}", end),), is_map)
        return
    lines = _format_section(writer, is_map=is_map)[1:]
    lines = [" " * writer.root.first.column + line for line in lines]
    at = find_start_after(writer.text, value.last, writer.root.first.column)
    cut = (TextChange(start, "", end),) if is_null else ()
    yield InsertionStrategy((*cut, _put(writer, at, lines)), is_map)


def _insert_section(writer: _NewText) -> Iterator[InsertionStrategy]:
    root, text, is_map = writer.root, writer.text, _is_using_maps(writer.root)
    if root.is_flow:
        held = _format_collection(_format_one_line(writer, is_map=is_map), is_map=is_map)
        key = format_flow(
            Scalar(writer.addition.section, writer.addition.section, 0, 0), writer.style
        )
        yield InsertionStrategy(_insert_in_brackets(text, root, f"{key}: {held}"), is_map)
        return
    column = root.first.column
    lines = [" " * column + line for line in _format_section(writer, is_map=is_map)]
    gap = any(
        one.value.children and has_gap_above(text, one.mark.start) for one in root.children[1:]
    )
    at = find_start_after(text, root.last, -1)
    if gap:
        yield InsertionStrategy((_put(writer, at, lines, gap=True),), is_map)
    yield InsertionStrategy((_put(writer, at, lines),), is_map)
    if is_at_line_start(text, root.children[-1].mark):
        at = find_line_start(text, root.children[-1].mark.start)
        yield InsertionStrategy((_put(writer, at, lines),), is_map)


def _is_using_maps(root: Span) -> bool:
    """Whether named entries stand in maps here, by the first section that has some."""
    found = (root.child(name) for name in NAMED)
    kinds = [one.value.kind for one in found if one and one.value.children]
    return kinds[:1] == [MAP]


def _format_one_line(writer: _NewText, *, is_map: bool) -> str:
    if not is_map:
        return format_flow(writer.addition.as_item, writer.style)
    return format_flow_pair(writer.addition.as_pair, writer.style)


def _format_collection(held: str, *, is_map: bool) -> str:
    return f"{{{held}}}" if is_map else f"[{held}]"


def _block_lines(writer: _NewText, *, is_map: bool) -> list[str]:
    style = writer.style
    if not is_map:
        return list_lines((writer.addition.as_item,), style)
    # What is flow is the entry, not the pair of its name and itself.
    return (
        [_format_one_line(writer, is_map=True)]
        if style.is_flow
        else format_entry(writer.addition.as_pair, style)
    )


def _format_section(writer: _NewText, *, is_map: bool) -> list[str]:
    indent = writer.style.step if is_map else _list_indent(writer)
    lines = _block_lines(writer, is_map=is_map)
    return [f"{writer.addition.section}:", *(" " * indent + line for line in lines)]


def _list_indent(writer: _NewText) -> int:
    """Return the indentation of top-level lists in the file."""
    tops = (one for one in writer.root.children if one.value.kind == LIST)
    blocks = (one for one in tops if one.value.children and not one.value.is_flow)
    own = (one.value.first.column - writer.root.first.column for one in blocks)
    return next((indent for indent in own if indent >= 0), writer.style.dash)


def _put(writer: _NewText, at: int, lines: Sequence[str], *, gap: bool = False) -> TextChange:
    """Whole lines at the start of a line, or at the end of a text without a last line break."""
    newline = writer.style.newline
    body = newline.join(["", *lines] if gap else lines)
    is_open = at and find_line_start(writer.text, at) != at
    return TextChange(at, f"{newline}{body}" if is_open else f"{body}{newline}")


def _insert_in_brackets(text: str, span: Span, item: str) -> tuple[TextChange, ...]:
    if not span.children:
        return (_insert_between_brackets(text, span, item),)
    last, comma = span.children[-1], span.comma
    end = (comma or last.value.last).end
    if last.value.kind == NOTHING and comma is None:
        end = max(end, last.mark.end)
    start = find_line_start(text, last.mark.start)
    if not is_at_line_start(text, last.mark):
        return (TextChange(end, f" {item}" if comma else f", {item}"),)
    newline = _find_newline_after(text, start)
    own = f"{text[start : last.mark.start]}{item}{',' if comma else ''}"
    added = () if comma else (TextChange(end, ","),)
    at = find_line_end(text, end)
    if at > span.last.start:
        return (TextChange(end, f"{'' if comma else ','}{newline}{own}"),)
    return (*added, TextChange(at, f"{own}{newline}"))


def _insert_between_brackets(text: str, span: Span, item: str) -> TextChange:
    close = span.last.start
    start = find_line_start(text, close)
    if start <= span.first.start or not is_at_line_start(text, span.last):
        return TextChange(close, f"{item} " if text[close - 1] == " " else item)
    newline = _find_newline_after(text, span.first.start)
    return TextChange(start, f"{text[start:close]}  {item}{newline}")


def _find_newline_after(text: str, at: int) -> str:
    end = find_line_end(text, at)
    return "\r\n" if text[:end].endswith("\r\n") else text[end - 1 : end]


NAMED = ("functions", "resources", "addons", "workflows", "layers", "secrets")
_NEWLINES = ("\n", "\r\n", "\r")


def _read_style(text: str, root: Span, section: str) -> FileStyle:
    """Read the style for a new entry, from neighboring entries or similar sections."""
    kin = _find_similar_section(root, section)
    items = kin.value if kin else None
    is_json = root.is_flow and any(one.mark.style == '"' for one in root.children)
    return FileStyle(
        newline=_read_newline(text),
        quote=_quote(root),
        step=_read_indent_step(root, kin),
        dash=_read_dash_indent(root, kin),
        after_dash=_read_dash_gap(text, root),
        pad=_pad(text, [items or root, root]),
        is_json=is_json,
        is_flow=_is_flow(items),
        flow_lists=_has_flow_lists(items),
        quotes_colons=_is_quoting_colons(items or root),
    )


def _find_similar_section(root: Span, section: str) -> SpanChild | None:
    """Find the section, or another one with named entries."""
    found = (root.child(name) for name in (section, *NAMED))
    return next((one for one in found if one and one.value.children), None)


def _read_newline(text: str) -> str:
    found = LINE_BREAK.search(text)
    return found[0] if found and found[0] in _NEWLINES else "\n"


def _list_all_spans(span: Span) -> Iterator[Span]:
    yield span
    for child in span.children:
        yield from _list_all_spans(child.value)


def _quote(root: Span) -> str:
    styles = [one.first.style for one in _list_all_spans(root) if one.kind == SCALAR]
    return "'" if styles.count("'") > styles.count('"') else '"'


def _list_nested_indents(root: Span, kind: str) -> Iterator[int]:
    """How far block collections of a kind are indented under the keys of block maps."""
    for span in _list_all_spans(root):
        if span.kind == MAP and not span.is_flow:
            for child in span.children:
                if child.value.kind == kind and not child.value.is_flow and child.value.children:
                    yield child.value.first.column - span.first.column


def _read_indent_step(root: Span, kin: SpanChild | None) -> int:
    own = _list_nested_indents(kin.value, MAP) if kin else iter(())
    return next((one for one in (*own, *_list_nested_indents(root, MAP)) if one > 0), 2)


def _read_dash_indent(root: Span, kin: SpanChild | None) -> int:
    own = _list_nested_indents(kin.value, LIST) if kin else iter(())
    return next((one for one in (*own, *_list_nested_indents(root, LIST)) if one >= 0), 2)


def _read_dash_gap(text: str, root: Span) -> int:
    """Read the distance from a dash to its item on the same line."""
    for span in _list_all_spans(root):
        if span.kind == LIST and not span.is_flow and span.children:
            dash, item = span.children[0].mark, span.children[0].value.first
            if item.start > dash.start and not LINE_BREAK.search(text, dash.end, item.start):
                return item.column - dash.column
    return 2


def _pad(text: str, places: list[Span]) -> str:
    found = (one for place in places for one in _list_all_spans(place))
    maps = (one for one in found if one.kind == MAP and one.is_flow and one.children)
    return next((" " for one in maps if text[one.first.end] == " "), "")


def _is_flow(items: Span | None) -> bool:
    return items is not None and bool(items.children) and items.children[-1].value.is_flow


def _has_flow_lists(items: Span | None) -> bool:
    triggers = [child.value.child("triggers") for child in items.children] if items else []
    return any(one and one.value.is_flow and one.value.children for one in triggers)


def _is_quoting_colons(items: Span) -> bool:
    """Return whether texts with colons are quoted without need."""
    leaves = [one.first for one in _list_all_spans(items) if one.kind == SCALAR]
    bare = [one for one in leaves if ":" in one.text and is_plain_safe(one.text)]
    return bool(bare) and all(one.style in ("'", '"') for one in bare)
