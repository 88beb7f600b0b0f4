"""Colors by meaning. Texts must be clear without color.

Names, tool output and stored texts are shown beside fabric's own text. So that they cannot send
terminal commands, colors are marks, and only `shown` converts these to escape sequences.
"""

import re

from msgspec import Struct

# Code points that no text has: they are set apart for use inside of programs.
_END = "\ufdd0"
_MARKS = {
    "32": "\ufdd1",
    "1;31": "\ufdd2",
    "33": "\ufdd3",
    "36": "\ufdd4",
    "2": "\ufdd5",
    "1": "\ufdd6",
    "34": "\ufdd7",
    "35": "\ufdd8",
    "92": "\ufdd9",
    "94": "\ufdda",
    "95": "\ufddb",
    "96": "\ufddc",
}
# Names of one kind that are told apart by their colours: none that means good or bad.
_NAMES = ("36", "34", "35", "96", "94", "95", "92", "33")
_ORDERS = {mark: f"\x1b[{code}m" for code, mark in _MARKS.items()} | {_END: "\x1b[0m"}
_MARK = re.compile("[\ufdd0-\ufddc]")
# Controls but for line feed and tab, what turns the direction of text, and what is no UTF-8.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NO_UTF8 = range(0xDC80, 0xDD00)


class Style(Struct, frozen=True):
    """`token` is part of each mark, so that foreign text cannot forge one."""

    colour: bool = False
    token: str = ""

    def good(self, text: str) -> str:
        return self._wrap_in_color("32", text)

    def bad(self, text: str) -> str:
        return self._wrap_in_color("1;31", text)

    def warn(self, text: str) -> str:
        return self._wrap_in_color("33", text)

    def note(self, text: str) -> str:
        return self._wrap_in_color("36", text)

    def dim(self, text: str) -> str:
        return self._wrap_in_color("2", text)

    def strong(self, text: str) -> str:
        return self._wrap_in_color("1", text)

    def color_by_number(self, text: str, number: int) -> str:
        """Color a text with the color of a number."""
        return self._wrap_in_color(_NAMES[number % len(_NAMES)], text)

    def _wrap_in_color(self, code: str, text: str) -> str:
        return f"{_MARKS[code]}{self.token}{text}{_END}{self.token}" if self.colour else text


def escape_for_display(text: str, token: str = "") -> str:
    """Format a text for a terminal: control characters are escaped, and marks with the token become
    colors."""
    safe = _UNSAFE.sub(_escape_match, text.replace("\r\n", "\n"))
    ours = re.compile(f"([\ufdd0-\ufddc])(?:{re.escape(token)})")
    return _MARK.sub(_escape_match, ours.sub(lambda mark: _ORDERS[mark[1]], safe))


def _escape_match(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code in _NO_UTF8:  # a byte of a file's name
        code -= 0xDC00
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004 - one byte
