"""The meaning of unquoted scalars: the YAML 1.2 core rules, in a strict form."""

import re

from fabric.config.yaml.nodes import Value

LONGEST_NUMBER = 64

_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MAY_BE_NUMBER = frozenset("0123456789+-.")
# Unquoted text that begins with any other letter is just text.
MAY_MEAN = _MAY_BE_NUMBER | frozenset("~nNtTfF")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ZERO_FIRST = re.compile(r"[-+]?0[0-9]+")
_INFINITY = float("inf")


class NumberTooLongError(ValueError):
    """A number with too many digits. Converting it would waste time."""


def interpret_scalar(text: str) -> Value:
    """Interpret an unquoted scalar. Everything that is not a core-schema word or number is text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    return _number(text)


def has_leading_zero(text: str) -> bool:
    """Return whether digits have a leading zero, such as `010`. Such values stay text, because
    parsers disagree."""
    return _ZERO_FIRST.fullmatch(text) is not None


def _number(text: str) -> Value:
    for pattern, base in ((_DECIMAL, 10), (_OCTAL, 8), (_HEX, 16)):
        if pattern.fullmatch(text):
            return int(_shorten(text), base)
    if _FLOAT.fullmatch(text):
        number = float(_shorten(text))
        # JSON has no infinity, so a number beyond all floats stays what was written.
        return text if abs(number) == _INFINITY else number
    return text


def _shorten(text: str) -> str:
    if len(text) > LONGEST_NUMBER:
        raise NumberTooLongError
    return text
