"""The syntax of variables of the Serverless Framework, such as `${self:custom.table, 'orders'}`."""

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from fabric.model.problems import FabricError, Problem

_MAX_DEPTH = 16
_SOURCE = re.compile(r"[A-Za-z][\w.-]*(?:\(|:(?!:))")
_CHOICE = re.compile(
    r"(?P<kind>[A-Za-z][\w-]*)(?:\.(?P<region>[a-z]{2}-[a-z-]+-[0-9]))?"
    r"(?:\((?P<argument>.*)\))?(?::(?P<address>.*))?",
    re.DOTALL,
)
_WORDS = {"true": True, "false": False, "null": None}
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


class Variable(NamedTuple):
    """One variable as written, and the texts of its alternatives."""

    text: str
    choices: tuple[str, ...]


Part: TypeAlias = str | Variable


class Choice(NamedTuple):
    """One alternative that names a source, such as `file(a.yml):b`."""

    kind: str
    argument: str
    address: str
    region: str = ""


def split_variables(text: str) -> tuple[Part, ...]:
    """Split a text into variables and other text. `${AWS::Region}` and `${Table}` are text."""
    return tuple(_join_texts(_list_parts(text)))


def _list_parts(text: str) -> Iterator[Part]:
    position = 0
    while (start := text.find("${", position)) >= 0:
        end = _find_end(text, start + 2)
        inner = text[start + 2 : end]
        if start and text[start - 1] == "\\":
            yield text[position : start - 1] + text[start : end + 1]
        elif _is_variable(inner):
            yield text[position:start]
            yield Variable(text[start : end + 1], tuple(_split_choices(inner)))
        else:
            yield text[position : end + 1]
        position = end + 1
    yield text[position:]


def _join_texts(parts: Iterator[Part]) -> Iterator[Part]:
    waiting = ""
    for part in parts:
        if isinstance(part, str):
            waiting += part
            continue
        if waiting:
            yield waiting
        waiting = ""
        yield part
    if waiting:
        yield waiting


def has_variables(text: str) -> bool:
    return "${" in text and any(isinstance(one, Variable) for one in split_variables(text))


def _is_variable(inner: str) -> bool:
    first = inner.strip()
    return _SOURCE.match(first) is not None or first.startswith("${")


def _find_end(text: str, start: int) -> int:
    """Find the brace that closes a variable, or the end of the text."""
    depth, quote = 1, ""
    for position in range(start, len(text)):
        sign = text[position]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "{":
            depth += 1
            if depth > _MAX_DEPTH:
                message = f"variables are nested more than {_MAX_DEPTH} levels deep"
                raise FabricError(Problem("import/unreadable", message))
        elif sign == "}":
            depth -= 1
            if not depth:
                return position
    return len(text)


def _split_choices(inner: str) -> Iterator[str]:
    depth, quote, begin = 0, "", 0
    for position, sign in enumerate(inner):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "({[":
            depth += 1
        elif sign in ")}]":
            depth -= 1
        elif sign == "," and not depth:
            yield inner[begin:position].strip()
            begin = position + 1
    yield inner[begin:].strip()


def parse_literal(text: str) -> tuple[bool, str | float | bool | None]:
    """Return whether a choice is a constant, and its value."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return True, text[1:-1]
    if text in _WORDS:
        return True, _WORDS[text]
    if _NUMBER.fullmatch(text):
        return True, float(text) if "." in text else int(text)
    return text == "", ""


def parse_choice(text: str) -> Choice | None:
    found = _CHOICE.fullmatch(text)
    if found is None:
        return None
    return Choice(
        found["kind"], found["argument"] or "", found["address"] or "", found["region"] or ""
    )
