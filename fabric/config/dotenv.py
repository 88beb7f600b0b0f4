"""The text of a `.env` file to pairs. Who wins over whom is the caller's rule."""

import re

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_SINGLE = re.compile(r"'([^']*)'\s*(?:#.*)?")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def parse_dotenv(text: str) -> tuple[tuple[str, str], ...]:
    """`NAME=value` lines in order; comments and whatever is no assignment are skipped."""
    lines = text.removeprefix("\ufeff").splitlines()
    found = (_LINE.fullmatch(line) for line in lines)
    return tuple((match[1], _value(match[2].strip())) for match in found if match)


def _value(written: str) -> str:
    double = _DOUBLE.fullmatch(written)
    if double:
        return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), double[1])
    single = _SINGLE.fullmatch(written)
    if single:
        return single[1]
    return _COMMENT.sub("", written).rstrip()
