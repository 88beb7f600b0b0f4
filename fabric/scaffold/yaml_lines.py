"""Lines of a YAML text: where they begin and end, and which of them are blank or a comment."""

from msgspec import Struct

from fabric.config.yaml.decoding import LINE_BREAK
from fabric.config.yaml.spans import Piece

_BLANKS = " \t"
_BREAKS = "\n\r\x85\u2028\u2029"


class TextChange(Struct, frozen=True):
    """Text to insert at a position. The text from there to `end` is replaced."""

    start: int
    text: str
    end: int = -1


def apply_text_changes(text: str, changes: tuple[TextChange, ...]) -> str:
    """The text with the changes made, which are in its order and do not touch each other."""
    for change in reversed(changes):
        end = max(change.start, change.end)
        text = text[: change.start] + change.text + text[end:]
    return text


def find_line_start(text: str, at: int) -> int:
    """Find the start of the line at this position."""
    return max(text.rfind(sign, 0, at) for sign in _BREAKS) + 1


def find_line_end(text: str, at: int) -> int:
    """Find the start of the next line, or the end of the text."""
    found = LINE_BREAK.search(text, at)
    return found.end() if found else len(text)


def is_blank(text: str, start: int, end: int) -> bool:
    return not text[start:end].strip(_BLANKS + _BREAKS)


def is_at_line_start(text: str, piece: Piece) -> bool:
    return is_blank(text, find_line_start(text, piece.start), piece.start)


def find_start_after(text: str, last: Piece, column: int) -> int:
    """Find the start of the line after a value, including its own comments.

    Comments below belong to it if they are indented further than its parent.
    """
    if last.style in ("|", ">"):
        at = last.end if _is_keeping_blanks(text, last) else _trim_blank_lines(text, last)
    else:
        at = find_line_end(text, last.end)
    return _skip_comments(text, at, column)


def has_gap_above(text: str, at: int) -> bool:
    """Return whether a blank line precedes this line or its comments."""
    start = find_line_start(text, at)
    while start:
        above = find_line_start(text, start - 1 - text.startswith("\r\n", start - 2))
        line = text[above:start].strip()
        if not line.startswith("#"):
            return not line
        start = above
    return False


def _skip_comments(text: str, at: int, column: int) -> int:
    found = look = at
    while look < len(text):
        end = find_line_end(text, look)
        line = text[look:end]
        body = line.lstrip(_BLANKS)
        if body.startswith("#") and len(line) - len(body) > column:
            found = end
        elif body.strip():
            break
        look = end
    return found


def _trim_blank_lines(text: str, block: Piece) -> int:
    """Find the end of the last non-blank line of a block."""
    body = text[block.start : block.end].rstrip(_BLANKS + _BREAKS)
    return find_line_end(text, block.start + len(body))


def _is_keeping_blanks(text: str, block: Piece) -> bool:
    return "+" in text[block.start : block.start + 3]
