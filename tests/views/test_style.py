"""Colors, and texts that cannot control a terminal."""

import pytest

from fabric.views.style import Style, escape_for_display

MARK = "own"
COLORED = Style(colour=True, token=MARK)


@pytest.mark.parametrize(
    ("marked", "shown"),
    [
        (COLORED.good("ok"), "\x1b[32mok\x1b[0m"),
        (COLORED.bad("no"), "\x1b[1;31mno\x1b[0m"),
        (COLORED.warn("hm"), "\x1b[33mhm\x1b[0m"),
        (COLORED.dim("so"), "\x1b[2mso\x1b[0m"),
        (COLORED.color_by_number("a", 8), "\x1b[36ma\x1b[0m"),
    ],
)
def test_marks_with_the_token_become_colors(marked: str, shown: str) -> None:
    assert escape_for_display(marked, MARK) == shown


def test_without_color_a_text_is_unchanged() -> None:
    assert Style().bad("no") == "no"
    assert Style().color_by_number("a", 3) == "a"


def test_a_mark_of_another_origin_is_escaped() -> None:
    forged = Style(colour=True, token=MARK[::-1]).bad("no")
    assert "\x1b" not in escape_for_display(forged, MARK)
    assert escape_for_display("\ufdd1text", MARK) == "\\ufdd1text"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\\x0db"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202eevil", "\\u202eevil"),
        ("\udcff.txt", "\\xff.txt"),
        ("\ud800", "\\ud800"),
        ("ü 🐍", "ü 🐍"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert escape_for_display(text) == shown
