"""Text in diagrams: shortened to boxes, counted, and without control characters."""

from collections.abc import Mapping

from fabric.graph.decide import Action

# Parts of the font size, on the wide side: what fits in a broad font fits in all of them.
_NARROW = frozenset("fijlrtI.,:;'|!()[]/ ")
_BROAD = frozenset("mwMW@%")
_NARROW_EM, _COMMON_EM, _CAPITAL_EM, _BROAD_EM = 0.42, 0.64, 0.74, 1.0
_LAST_LATIN = 0x24F
_SECOND_MS, _MINUTE_S = 1000, 60
_WORDS = {Action.RUN: "run", Action.WAIT: "pending", Action.SKIP: "up to date"}


def measure_width(text: str, size: float) -> float:
    """About how wide a text is, in pixels."""
    return size * sum(_measure_character(letter) for letter in text)


def _measure_character(letter: str) -> float:
    if letter in _NARROW:
        return _NARROW_EM
    if letter in _BROAD or ord(letter) > _LAST_LATIN:
        return _BROAD_EM
    return _CAPITAL_EM if letter.isupper() else _COMMON_EM


def shorten_to_fit(text: str, room: float, size: float) -> str:
    """The text, or its beginning and end around an ellipsis: names often differ in their tails."""
    text = escape_controls(text)
    if measure_width(text, size) <= room:
        return text
    for keep in range(len(text) - 1, 0, -1):
        tail = keep // 3
        short = text[: keep - tail] + "…" + (text[-tail:] if tail else "")
        if measure_width(short, size) <= room:
            return short
    return "…"


def escape_controls(text: str) -> str:
    """Control characters as escapes: a file name must not steer a terminal or break XML."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escape_control(one) for one in text)


def _escape_control(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii") if letter != "\u00a0" else " "


def format_tally(tally: Mapping[Action, int], *, zeros: bool = False) -> str:
    parts = [f"{tally[action]} {_WORDS[action]}" for action in _WORDS if zeros or tally[action]]
    return ", ".join(parts)
