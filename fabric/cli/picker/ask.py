"""Prompts at an interactive terminal."""

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fabric.app.settings import Settings
from fabric.cli.picker.drawn import TerminalSize, answered_line, picker_lines, text_lines
from fabric.cli.picker.state import CheckText, ListedChoice, PickerState, Stand, TextState, picker
from fabric.cli.picker.terminal import TerminalEnds, asked
from fabric.cli.screen import Screen, safe
from fabric.cli.start import command_start
from fabric.model.problems import FabricError, Problem
from fabric.views.style import Style

_NO_NOTES: Mapping[str, str] = MappingProxyType({})


def can_ask(settings: Settings, *, as_json: bool = False) -> bool:
    """Return whether a user can answer at a terminal with cursor control."""
    is_able = settings.env.get("TERM") != "dumb"
    at_terminal = settings.stderr_is_terminal and sys.stdin is not None and sys.stdin.isatty()
    return at_terminal and is_able and not as_json


def pick(
    title: str, choices: Sequence[str], default: str, notes: Mapping[str, str] = _NO_NOTES
) -> str:
    """Prompt for one of the choices. `notes` explain some. The user can cancel the command."""
    listed = tuple(ListedChoice(name, notes.get(name, "")) for name in choices)
    style = _style()
    return _answer(picker(title, listed, default), style)


def ask_text(title: str, default: str, check: CheckText) -> str:
    """Prompt for a text that `check` accepts. An empty text means the default."""
    return _answer(TextState(title, default, check), _style())


def _answer(state: PickerState | TextState, style: Style) -> str:
    ends = TerminalEnds()
    ended: PickerState | TextState
    if isinstance(state, PickerState):
        ended = asked(state, lambda one, size: picker_lines(one, size, style), ends)
    else:
        ended = asked(state, lambda one, size: text_lines(one, size, style), ends)
    if ended.stand is Stand.CANCELLED:
        hint = "set the values by options (see --help): nothing was written"
        raise FabricError(Problem("run/interrupted", "interrupted", hint=hint))
    _keep_on_screen(ended, ends.size(), style)
    return ended.answer


def _keep_on_screen(ended: PickerState | TextState, size: TerminalSize, style: Style) -> None:
    sys.stderr.write(safe(answered_line(ended.title, ended.answer, size, style)) + "\n")
    sys.stderr.flush()


def _style() -> Style:
    return Screen.of(command_start().settings, as_json=False, colour="auto").err
