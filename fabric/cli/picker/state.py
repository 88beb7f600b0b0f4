"""The state of a prompt, and its changes by keys, as values."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.picker.keys import Key, Press

# What is wrong with an answer; empty if nothing is.
CheckText: TypeAlias = Callable[[str], str]


class Stand(StrEnum):
    """How far a question is."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"


class ListedChoice(Struct, frozen=True):
    """A choice."""

    name: str
    # Explains it and is searched by the filter too.
    note: str = ""

    def fits(self, typed: str) -> bool:
        return typed.casefold() in f"{self.name} {self.note}".casefold()


class PickerState(Struct, frozen=True):
    """`at` is an index into the filtered choices."""

    title: str
    choices: tuple[ListedChoice, ...]
    typed: str = ""
    at: int = 0
    stand: Stand = Stand.OPEN

    @property
    def fitting(self) -> tuple[ListedChoice, ...]:
        return tuple(one for one in self.choices if one.fits(self.typed))

    @property
    def answer(self) -> str:
        return self.fitting[self.at].name

    def after(self, press: Press) -> "PickerState":
        return _handle_picker_key(self, press)


class TextState(Struct, frozen=True):
    """`complaint` is the problem at the last Enter."""

    title: str
    default: str
    check: CheckText
    typed: str = ""
    complaint: str = ""
    stand: Stand = Stand.OPEN

    @property
    def answer(self) -> str:
        return self.typed or self.default

    def after(self, press: Press) -> "TextState":
        return _handle_text_key(self, press)


def start_picker(title: str, choices: tuple[ListedChoice, ...], default: str) -> PickerState:
    """Start the prompt at its default or the first choice."""
    names = [one.name for one in choices]
    return PickerState(title, choices, at=names.index(default) if default in names else 0)


def _handle_picker_key(state: PickerState, press: Press) -> PickerState:
    """Handle a key. Enter without a match does nothing. A filter change selects the first match."""
    match press:
        case Key.UP | Key.DOWN:
            step = 1 if press is Key.DOWN else -1
            return replace(state, at=(state.at + step) % max(1, len(state.fitting)))
        case Key.ENTER if state.fitting:
            return replace(state, stand=Stand.ANSWERED)
        case Key.CANCEL:
            return replace(state, stand=Stand.CANCELLED)
        case _:
            typed = _apply_key(state.typed, press)
            return state if typed == state.typed else replace(state, typed=typed, at=0)


def _handle_text_key(state: TextState, press: Press) -> TextState:
    match press:
        case Key.ENTER:
            complaint = state.check(state.answer)
            stand = Stand.OPEN if complaint else Stand.ANSWERED
            return replace(state, complaint=complaint, stand=stand)
        case Key.CANCEL:
            return replace(state, stand=Stand.CANCELLED)
        case _:
            typed = _apply_key(state.typed, press)
            return replace(state, typed=typed, complaint="") if typed != state.typed else state


def _apply_key(typed: str, press: Press) -> str:
    match press:
        case Key.BACKSPACE:
            return typed[:-1]
        case Key.ESCAPE:
            return ""
        case str():
            return typed + press
        case _:
            return typed
