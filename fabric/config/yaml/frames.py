"""The lines around a problem, as people see them: never with a secret in them."""

import re
from itertools import islice
from typing import Protocol

from fabric.config.yaml.decoding import LINE_BREAK
from fabric.model.problems import Problem
from fabric.model.secrets.secrecy import REDACTED, redact_userinfo

MAX_LINES = 200_000
_WIDTH = 100
_ABOVE = 200
# Beyond it a line is not worth showing, and searching it for secrets takes long.
_LONGEST = 400
# A list of names of API keys. Keys themselves have 20 characters or more.
_KEY_NAMES = r"""s["']?\s*:\s*\[(?:(?![\w+/=.-]{20})[^\]])*\]"""
# A binding, `${secret:KEY}`, is no such key: the name in it tells nothing. `Ref` is a key of
# CloudFormation.
_SENSITIVE = re.compile(
    r"""((?<!\$\{)["']?[\w-]*(?:secret|token|password|passwd|credential|connectionstring|_key"""
    rf"""|apikey(?!{_KEY_NAMES})|(?-i:\bref))[\w-]*["']?\s*:\s*)\S.*""",
    re.IGNORECASE,
)
_SECTION = re.compile(r"""\s*["']?(?:secrets)["']?\s*:""")
_ANY_VALUE = re.compile(r"""(:\s+|-\s+(?![\w"'-]+\s*:))\S.*""")


class SourceLines:
    """The lines of a file as YAML counts them, split on first use."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in islice(LINE_BREAK.finditer(text), MAX_LINES))]

    def frame(self, line: int, column: int) -> str:
        """Return up to three lines with a caret under the column; "" for a place beyond the
        limit."""
        if not 0 < line <= len(self._starts):
            return ""
        first = max(1, line - 1)
        last = min(len(self._starts), line + 1)
        width = len(str(last))
        shift = max(0, column - _WIDTH + 20)
        rows = []
        for number in range(first, last + 1):
            rows.append(
                f"{number:>{width}} | {self.format_line(number)[shift : shift + _WIDTH]}".rstrip()
            )
            if number == line and column:
                rows.append(f"{'':>{width}} | {' ' * (column - shift - 1)}^")
        return "\n".join(rows)

    def _get_line(self, number: int) -> str:
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self._text)
        return self._text[start:end].rstrip("\r\n\x85\u2028\u2029")

    @property
    def lines(self) -> list[str]:
        """Return all lines, each with its line break."""
        ends = [*self._starts[1:], len(self._text)]
        lines = [self._text[start:end] for start, end in zip(self._starts, ends, strict=True)]
        return lines if lines[-1] else lines[:-1]

    def format_line(self, number: int) -> str:
        """Return a line in printable form."""
        line = self._get_line(number)
        if len(line) > _LONGEST:
            return f"(a line of {len(line):,} characters)"
        if self._is_in_secrets(number, line):
            line = _ANY_VALUE.sub(rf"\g<1>{REDACTED}", line)
        line = redact_userinfo(_SENSITIVE.sub(rf"\g<1>{REDACTED}", line))
        return "".join(sign if sign.isprintable() else " " for sign in line)

    def _is_in_secrets(self, number: int, line: str) -> bool:
        """Whether a line above that this one is nested in, going by indentation, is `secrets:`."""
        indent = _count_indent(line)
        for above in range(number - 1, max(0, number - _ABOVE), -1):
            candidate = self._get_line(above)
            if not candidate.strip() or _count_indent(candidate) > indent:
                continue
            if _SECTION.match(candidate):
                return True
            indent = min(indent, _count_indent(candidate))
            if not indent and not candidate.startswith("-"):
                return False
        return False


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def add_frame(problem: Problem, file: str, lines: SourceLines) -> Problem:
    """Add the file name and the surrounding lines to a problem."""
    where = problem.where
    if where is None:
        return problem
    placed = type(where)(where.file or file, where.line, where.column)
    return Problem(
        problem.code, problem.message, problem.hint, placed, lines.frame(where.line, where.column)
    )


# The used fields of a YAML library's events, equal in the C and the pure Python loader.


class YamlMark(Protocol):
    """A place in the text, counted from 0."""

    line: int
    column: int


class YamlEvent(Protocol):
    start_mark: YamlMark


class NodeStart(YamlEvent, Protocol):
    """The start of a value, with an optional anchor and tag."""

    anchor: str | None
    tag: str | None


class LeafEvent(NodeStart, Protocol):
    value: str
    implicit: tuple[bool, bool]


class AliasUse(YamlEvent, Protocol):
    anchor: str


class YamlEvents(Protocol):
    """A loader that returns one event after the other."""

    def get_event(self) -> YamlEvent: ...
    def dispose(self) -> None: ...
