"""Config and template trees as YAML text, with the comments of the source."""

from collections.abc import Iterator
from collections.abc import Mapping as Mapping_

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence
from fabric.importing.comments import NO_COMMENT, Comment
from fabric.scaffold.yaml_text import FileStyle, format_flow

_STYLE = FileStyle()
_WIDTH = 88
# Functions of CloudFormation whose short form takes one text.
_SHORT = {"Ref": "!Ref", "Condition": "!Condition", "Fn::Sub": "!Sub", "Fn::GetAtt": "!GetAtt"}


class Emitter:
    """Writes one tree. Each comment of the source is written at most once."""

    def __init__(self, comments: Mapping_[int, Comment], *, has_functions: bool = False) -> None:
        self._comments = dict(comments)
        self._has_functions = has_functions

    def format(self, root: Mapping, *, spaced: bool = True) -> str:
        """Format the root map. With `spaced`, an empty line precedes each map and list."""
        lines: list[str] = []
        for entry in root.entries:
            part = list(self._format_entry(entry, is_root=True))
            if spaced and lines and (len(part) > 1 or (len(lines) > 1 and not lines[-1])):
                lines.append("")
            lines += part
        return "\n".join(lines) + "\n"

    def _take(self, line: int) -> Comment:
        return self._comments.pop(line, NO_COMMENT) if line else NO_COMMENT

    def _format_entry(self, entry: KeyValue, *, is_root: bool = False) -> Iterator[str]:
        comment = self._take(entry.line)
        yield from comment.above
        after = f"  {comment.after}" if comment.after else ""
        key = format_flow(_make_text(entry.key), _STYLE)
        short = self._format_short(entry.value)
        if short is not None:
            first, *rest = short
            yield f"{key}: {first}{after if not rest else ''}"
            yield from (f"  {line}".rstrip() for line in rest)
        elif not is_root and (flow := self._format_flow(entry.value, len(key))) is not None:
            yield f"{key}: {flow}{after}"
        else:
            yield f"{key}:{after}"
            yield from (f"  {line}".rstrip() for line in self._format_block(entry.value))

    def _format_short(self, value: Node) -> list[str] | None:
        """Format a value on one line, except for a long text."""
        if isinstance(value, Scalar):
            return _format_scalar(value)
        if isinstance(value, Sequence):
            return None if value.items else ["[]"]
        if not value.entries:
            return ["{}"]
        name, inner = value.entries[0].key, value.entries[0].value
        if self._has_functions and len(value.entries) == 1 and name in _SHORT:
            text = _get_function_text(name, inner)
            if text is not None:
                first, *rest = _format_scalar(text)
                return [f"{_SHORT[name]} {first}", *rest]
        return None

    def _format_flow(self, value: Node, indent: int) -> str | None:
        """Format a small value on one line, or return None."""
        if self._has_functions or not _is_small(value) or self._has_comments(value):
            return None
        text = format_flow(value, _STYLE)
        return text if len(text) + indent < _WIDTH else None

    def _has_comments(self, value: Node) -> bool:
        if isinstance(value, Mapping):
            return any(
                one.line in self._comments or self._has_comments(one.value) for one in value.entries
            )
        items = value.items if isinstance(value, Sequence) else ()
        return any(self._has_comments(one) for one in items)

    def _format_block(self, value: Node) -> Iterator[str]:
        if isinstance(value, Mapping):
            for entry in value.entries:
                yield from self._format_entry(entry)
        elif isinstance(value, Sequence):
            for item in value.items:
                yield from self._format_item(item)

    def _format_item(self, item: Node) -> Iterator[str]:
        comment = self._take(item.line) if isinstance(item, Mapping) else NO_COMMENT
        yield from comment.above
        after = f"  {comment.after}" if comment.after else ""
        short = self._format_short(item)
        flow = None if short is not None else self._format_flow(item, 6)
        if short is not None or flow is not None:
            first, *rest = short or [flow or ""]
            yield f"- {first}{after}"
            yield from (f"  {line}".rstrip() for line in rest)
            return
        first, *rest = self._format_block(item)
        yield f"- {first}{after}"
        yield from (f"  {line}".rstrip() for line in rest)


def _make_text(text: str) -> Scalar:
    return Scalar(text, text, 0, 0)


def _get_function_text(name: str, inner: Node) -> Scalar | None:
    match inner:
        case Scalar(value=str()):
            return inner
        case Sequence(items=(Scalar(text=first), Scalar(text=second))) if name == "Fn::GetAtt":
            return _make_text(f"{first}.{second}")
        case _:
            return None


def _format_scalar(value: Scalar) -> list[str]:
    """Format a text of several lines as a block."""
    text = value.text
    is_block = isinstance(value.value, str) and "\n" in text and not text.startswith((" ", "\n"))
    if not is_block or not all(one.isprintable() or one in "\n\t" for one in text):
        return [format_flow(value, _STYLE)]
    lines = text.splitlines()
    if any(line.startswith("\t") or line != line.rstrip() for line in lines):
        return [format_flow(value, _STYLE)]
    ending = "-" if not text.endswith("\n") else "+" if text.endswith("\n\n") else ""
    return [f"|{ending}", *lines]


def _is_small(value: Node) -> bool:
    """Return whether a value has at most one level of maps in it."""
    if isinstance(value, Scalar):
        return "\n" not in value.text
    if isinstance(value, Sequence):
        return all(isinstance(one, Scalar) and "\n" not in one.text for one in value.items)
    return all(
        isinstance(one.value, Scalar | Sequence) and _is_small(one.value) for one in value.entries
    )
