"""Python syntax errors: reason and line."""

import re

from fabric.model.problems import Place, Problem

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_AT = re.compile(r"in position (\d+)")


def syntax_problem(shown: str, source: bytes, error: SyntaxError | ValueError) -> Problem:
    """Build the problem from the parser's message; without a line, the line is inferred."""
    if b"\0" in source:
        line = _count_line(source, source.index(b"\0"))
        message = "the source contains a NUL byte"
        return Problem("build/failed", message, "save the file as UTF-8", Place(shown, line))
    if not isinstance(error, SyntaxError):
        return Problem("build/failed", str(error), where=Place(shown, 1))
    frame = (error.text or "").rstrip("\n")
    if error.lineno:
        where = Place(shown, error.lineno, max(0, error.offset or 0))
        return Problem("build/failed", f"syntax error: {error.msg}", where=where, frame=frame)
    return Problem(
        "build/failed",
        f"cannot decode the source: {error.msg}",
        hint="save the file as UTF-8, or correct its encoding declaration",
        where=Place(shown, _find_encoding_line(source, error.msg)),
    )


def _find_encoding_line(source: bytes, said: str) -> int:
    """Return the line of the invalid byte, otherwise the line that declares the encoding."""
    if at := _AT.search(said):
        return _count_line(source, int(at[1]))
    heads = source.splitlines()[:2]
    return next((number for number, one in enumerate(heads, 1) if _COOKIE.match(one)), 1)


def _count_line(source: bytes, position: int) -> int:
    return source.count(b"\n", 0, position) + 1
