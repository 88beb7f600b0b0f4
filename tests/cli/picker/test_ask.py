"""A question fits the window that it is drawn in."""

import pytest

from fabric.cli.picker.ask import (
    TerminalSize,
    cut,
    draw_answered,
    draw_picker,
    draw_text_prompt,
    measure_cells,
)
from fabric.cli.picker.keys import Key
from fabric.cli.picker.state import ListedChoice, PickerState, TextState, start_picker
from fabric.views.style import Style

WIDE = TerminalSize(80, 24)
PLAIN = Style()


def many(count: int) -> PickerState:
    choices = tuple(ListedChoice(f"choice-{number}", "a note") for number in range(count))
    return start_picker("Which", choices, "choice-0")


def test_the_choice_is_pointed_at_also_without_colour() -> None:
    lines = draw_picker(many(2).after(Key.DOWN), WIDE, PLAIN)
    assert lines[:3] == ("? Which:", "  choice-0  a note", "> choice-1  a note")


def test_a_long_list_scrolls_so_that_the_choice_is_seen() -> None:
    state = many(40)
    for _ in range(40):
        lines = draw_picker(state, WIDE, PLAIN)
        assert f"> {state.answer}  a note" in lines
        assert len(lines) == 14
        assert "40 total" in lines[-1]
        state = state.after(Key.DOWN)


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("columns", [2, 8, 15])
def test_a_small_window_holds_all_of_it(rows: int, columns: int) -> None:
    lines = draw_picker(many(40), TerminalSize(columns, rows), PLAIN)
    assert len(lines) <= max(2, rows)
    assert all(measure_cells(line) < max(3, columns) for line in lines)


def test_no_match_is_shown() -> None:
    assert "no match" in draw_picker(many(3).after("zz"), WIDE, PLAIN)[1]


def test_wide_characters_take_two_columns_and_combining_marks_none() -> None:
    assert measure_cells("日a\u0301") == 3
    assert cut("日本語日本語", 8) == "日本語…"


def test_of_a_long_text_the_end_is_seen() -> None:
    state = TextState("Name", "", lambda _: "too long").after("a" * 90 + "end").after(Key.ENTER)
    title, complaint = draw_text_prompt(state, TerminalSize(40, 10), PLAIN)
    assert title.endswith("aend")
    assert measure_cells(title) < 40
    assert complaint == "  too long"


def test_a_default_is_shown_until_something_is_typed() -> None:
    state = TextState("Name", "shop", lambda _: "")
    assert draw_text_prompt(state, WIDE, PLAIN) == ("? Name (shop):",)
    assert draw_text_prompt(state.after("x"), WIDE, PLAIN) == ("? Name: x",)


def test_answered_question_is_one_line() -> None:
    assert draw_answered("Template", "http", WIDE, PLAIN) == "✓ Template: http"
