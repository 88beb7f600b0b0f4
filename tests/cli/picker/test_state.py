"""What each key makes of a question."""

from functools import reduce

import pytest

from fabric.cli.picker.keys import Key, Press
from fabric.cli.picker.state import ListedChoice, PickerState, Stand, TextState, start_picker

KINDS = ("http", "queue", "cron", "storage", "eventbus", "pubsub")
CHOICES = tuple(ListedChoice(one) for one in KINDS)


def after(state: PickerState, *keys: Press) -> PickerState:
    return reduce(lambda one, press: one.after(press), keys, state)


def kinds(*keys: Press) -> PickerState:
    return after(start_picker("Template", CHOICES, "http"), *keys)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ((), "http"),
        ((Key.DOWN,), "queue"),
        ((Key.DOWN, Key.DOWN, Key.UP), "queue"),
        ((Key.UP,), "pubsub"),
        ((Key.UP, Key.DOWN), "http"),
        (("q",), "queue"),
        (("s",), "storage"),
        (("s", Key.DOWN), "eventbus"),
        (("s", Key.DOWN, Key.DOWN, Key.DOWN), "storage"),
        (("q", "u", Key.BACKSPACE, Key.BACKSPACE, "s", Key.ESCAPE, Key.DOWN), "queue"),
        (("p", "u", "b"), "pubsub"),
        (("S", "t"), "storage"),
        (("z", "z", Key.ENTER, Key.ESCAPE, Key.UP), "pubsub"),
        ((Key.BACKSPACE, Key.OTHER), "http"),
        # Esc clears a filter and does nothing where there is none.
        ((Key.DOWN, Key.ESCAPE), "queue"),
    ],
)
def test_keys_lead_to_a_choice(keys: tuple[Press, ...], answer: str) -> None:
    state = kinds(*keys, Key.ENTER)
    assert (state.stand, state.answer) == (Stand.ANSWERED, answer)


def test_enter_with_no_match_stays() -> None:
    state = kinds("z", Key.ENTER, Key.DOWN, Key.UP, Key.ENTER)
    assert state.stand is Stand.OPEN
    assert state.fitting == ()


def test_cancel_works_even_without_a_match() -> None:
    assert kinds("z", Key.CANCEL).stand is Stand.CANCELLED
    assert kinds(Key.CANCEL).stand is Stand.CANCELLED


def test_a_question_begins_on_its_default_or_on_the_first() -> None:
    assert start_picker("Template", CHOICES, "cron").answer == "cron"
    assert start_picker("Template", CHOICES, "none").answer == "http"


def test_the_filter_finds_notes_as_well() -> None:
    choices = (ListedChoice("cloud1-lambda", "AWS Lambda"), ListedChoice("edge1-workers"))
    assert (
        after(start_picker("Provider", choices, "edge1-workers"), "a", "w").answer
        == "cloud1-lambda"
    )


def no_blank(text: str) -> str:
    return "a name has no blanks" if " " in text else ""


def text_after(*keys: Press) -> TextState:
    state = TextState("Name", "shop", no_blank)
    return reduce(lambda one, press: one.after(press), keys, state)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ((), "shop"),
        (("a", "bc"), "abc"),
        (("a", "b", Key.BACKSPACE), "a"),
        (("a", Key.ESCAPE), "shop"),
        ((Key.UP, Key.OTHER, "x"), "x"),
    ],
)
def test_a_text_is_typed_or_is_its_default(keys: tuple[Press, ...], answer: str) -> None:
    state = text_after(*keys, Key.ENTER)
    assert (state.stand, state.answer) == (Stand.ANSWERED, answer)


def test_a_text_that_is_refused_stays_with_the_reason_until_it_is_changed() -> None:
    refused = text_after("a", " ", Key.ENTER)
    assert (refused.stand, refused.complaint) == (Stand.OPEN, "a name has no blanks")
    assert refused.after(Key.UP).complaint
    assert refused.after(Key.BACKSPACE).complaint == ""
    assert text_after(Key.CANCEL).stand is Stand.CANCELLED
