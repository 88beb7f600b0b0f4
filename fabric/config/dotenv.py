"""Parse the text of a `.env` file into pairs. The caller defines the priority."""

import re

from msgspec import Struct

_NAME = re.compile(r"[^\S\n]*(?:export[^\S\n]+)?([A-Za-z_][A-Za-z0-9_]*)[^\S\n]*=[^\S\n]*")
_QUOTED = {
    '"': re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL),
    "'": re.compile(r"'([^']*)'"),
}
_END = re.compile(r"[^\S\n]*(?:#[^\n]*)?(?=\n|\Z)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class UnreadLine(Struct, frozen=True):
    """An invalid line, numbered from 1, with the reason. Never includes its text, which can be a
    misplaced secret."""

    number: int
    why: str


class DotEnv(Struct, frozen=True):
    pairs: tuple[tuple[str, str], ...]
    unread: tuple[UnreadLine, ...]


NO_DOTENV = DotEnv((), ())


class _SlipError(Exception):
    pass


def parse_dotenv(text: str) -> DotEnv:
    """Parse `NAME=value` in order. A quoted value can span several lines."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    pairs: list[tuple[str, str]] = []
    unread: list[UnreadLine] = []
    position = 0
    while position < len(text):
        end = _end_of_line(text, position)
        if _has_content(text[position:end]):
            try:
                name, value, end = _parse_assignment(text, position)
                pairs.append((name, value))
            except _SlipError as slip:
                unread.append(UnreadLine(text.count("\n", 0, position) + 1, str(slip)))
        position = end + 1
    return DotEnv(tuple(pairs), tuple(unread))


def _has_content(line: str) -> bool:
    return not line.lstrip().startswith("#") and bool(line.strip())


def _end_of_line(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found


def _parse_assignment(text: str, position: int) -> tuple[str, str, int]:
    """Parse a name and its value. Returns the end of its last line too."""
    head = _NAME.match(text, position)
    if head is None:
        raise _SlipError("expected NAME=value")
    quote = text[head.end() : head.end() + 1]
    if quote not in _QUOTED:
        end = _end_of_line(text, head.end())
        return head[1], _COMMENT.sub("", text[head.end() : end]).strip(), end
    body = _QUOTED[quote].match(text, head.end())
    if body is None:
        raise _SlipError(f"missing closing {quote}")
    rest = _END.match(text, body.end())
    if rest is None:
        raise _SlipError(f"unexpected text after the closing {quote}")
    return head[1], _unescape_value(body[1]) if quote == '"' else body[1], rest.end()


def _unescape_value(body: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), body)
