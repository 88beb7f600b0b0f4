"""Prompts at an interactive terminal."""

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fabric.app.settings import Settings
from fabric.cli.picker.drawn import TerminalSize, draw_answered, draw_picker, draw_text_prompt
from fabric.cli.picker.state import (
    CheckText,
    ListedChoice,
    PickerState,
    Stand,
    TextState,
    start_picker,
)
from fabric.cli.picker.terminal import TerminalEnds, run_prompt
from fabric.cli.screen import Screen, escape_for_terminal
from fabric.cli.start import get_command_start
from fabric.model.problems import FabricError, Problem
from fabric.views.style import Style

_NO_NOTES: Mapping[str, str] = MappingProxyType({})


def is_interactive(settings: Settings, *, as_json: bool = False) -> bool:
    """Return whether a user can answer at a terminal with cursor control."""
    is_able = settings.env.get("TERM") != "dumb"
    at_terminal = settings.stderr_is_terminal and sys.stdin is not None and sys.stdin.isatty()
    return at_terminal and is_able and not as_json


def pick(
    title: str, choices: Sequence[str], default: str, notes: Mapping[str, str] = _NO_NOTES
) -> str:
    """Prompt for one of the choices. `notes` explain some. The user can cancel the command."""
    listed = tuple(ListedChoice(name, notes.get(name, "")) for name in choices)
    style = _build_style()
    return _format_answer(start_picker(title, listed, default), style)


def ask_text(title: str, default: str, check: CheckText) -> str:
    """Prompt for a text that `check` accepts. An empty text means the default."""
    return _format_answer(TextState(title, default, check), _build_style())


def _format_answer(state: PickerState | TextState, style: Style) -> str:
    ends = TerminalEnds()
    ended: PickerState | TextState
    if isinstance(state, PickerState):
        ended = run_prompt(state, lambda one, size: draw_picker(one, size, style), ends)
    else:
        ended = run_prompt(state, lambda one, size: draw_text_prompt(one, size, style), ends)
    if ended.stand is Stand.CANCELLED:
        hint = "set the values by options (see --help): nothing was written"
        raise FabricError(Problem("run/interrupted", "interrupted", hint=hint))
    _keep_on_screen(ended, ends.size(), style)
    return ended.answer


def _keep_on_screen(ended: PickerState | TextState, size: TerminalSize, style: Style) -> None:
    sys.stderr.write(
        escape_for_terminal(draw_answered(ended.title, ended.answer, size, style)) + "\n"
    )
    sys.stderr.flush()


def _build_style() -> Style:
    return Screen.of(get_command_start().settings, as_json=False, colour="auto").err
