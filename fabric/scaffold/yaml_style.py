"""The style of a file, so that additions match it."""

from collections.abc import Iterator

from fabric.config.yaml.decoding import LINE_BREAK
from fabric.config.yaml.spans import LIST, MAP, SCALAR, Span, SpanChild
from fabric.scaffold.yaml_text import FileStyle, is_plain_safe

NAMED = ("functions", "resources", "addons", "workflows", "layers", "secrets")
_NEWLINES = ("\n", "\r\n", "\r")


def read_style(text: str, root: Span, section: str) -> FileStyle:
    """Read the style for a new entry, from neighboring entries or similar sections."""
    kin = find_similar_section(root, section)
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


def find_similar_section(root: Span, section: str) -> SpanChild | None:
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
