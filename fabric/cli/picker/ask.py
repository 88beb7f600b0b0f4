"""Prompts at an interactive terminal."""

import contextlib
import os
import re
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, Self, TypeVar
from unicodedata import combining, east_asian_width

from msgspec import Struct

from fabric.app.settings import Settings
from fabric.cli.picker.keys import Key, Press, parse_keys_typed
from fabric.cli.picker.state import (
    CheckText,
    ListedChoice,
    PickerState,
    Stand,
    TextState,
    start_picker,
)
from fabric.cli.screen import Screen, escape_for_terminal
from fabric.cli.start import get_command_start
from fabric.model.problems import FabricError, Problem
from fabric.system.files.disk import write_all
from fabric.views.style import Style

# More than these are scrolled through.
_MOST_ROWS = 12
# The title, and what stands below the list.
_OTHER_ROWS = 2


class TerminalSize(Struct, frozen=True):
    columns: int
    rows: int


def measure_cells(text: str) -> int:
    """Measure the terminal columns of a text."""
    return sum(_measure_character(sign) for sign in text)


def _measure_character(sign: str) -> int:
    if combining(sign):
        return 0
    return 2 if east_asian_width(sign) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """Cut to the width. The last column stays free, because some terminals wrap there."""
    room = max(1, columns - 1)
    if measure_cells(text) <= room:
        return text
    kept, used = "", 1
    for sign in text:
        used += _measure_character(sign)
        if used > room:
            break
        kept += sign
    return f"{kept}…"


def draw_picker(state: PickerState, size: TerminalSize, style: Style) -> tuple[str, ...]:
    fitting = state.fitting
    room = max(1, min(_MOST_ROWS, size.rows - _OTHER_ROWS))
    top = max(0, min(state.at - room // 2, len(fitting) - room))
    rows = tuple(
        _draw_row(one, size, style, is_at=top + number == state.at)
        for number, one in enumerate(fitting[top : top + room])
    )
    nothing = (style.warn(cut("  no match: press Backspace or Esc", size.columns)),)
    below = (_draw_more(len(fitting), room, size, style),) if size.rows > _OTHER_ROWS else ()
    return (_draw_title(state.title, state.typed, size, style), *(rows or nothing), *below)


def draw_text_prompt(state: TextState, size: TerminalSize, style: Style) -> tuple[str, ...]:
    default = f" ({state.default})" if state.default and not state.typed else ""
    below = (style.warn(cut(f"  {state.complaint}", size.columns)),) if state.complaint else ()
    return (_draw_title(f"{state.title}{default}", state.typed, size, style), *below)


def draw_answered(title: str, answer: str, size: TerminalSize, style: Style) -> str:
    """Return the line that stays on the screen."""
    return f"{style.good('✓')} {cut(f'{title}: {answer}', size.columns - 2)}"


def _draw_title(title: str, typed: str, size: TerminalSize, style: Style) -> str:
    """Draw the title. Of a long text the end is shown, where the user types."""
    head = f"? {title}:"
    room = size.columns - measure_cells(head) - 3
    seen = typed
    while seen and measure_cells(seen) > max(1, room):
        seen = seen[1:]
    return f"{style.strong(cut(head, size.columns))} {seen}".rstrip(" ")


def _draw_row(one: ListedChoice, size: TerminalSize, style: Style, *, is_at: bool) -> str:
    note = f"  {one.note}" if one.note else ""
    line = cut(f"{'>' if is_at else ' '} {one.name}{note}", size.columns)
    return style.note(line) if is_at else line


def _draw_more(count: int, room: int, size: TerminalSize, style: Style) -> str:
    more = f"{count} total · " if count > room else ""
    return style.dim(cut(f"  {more}↑↓ move, Enter selects, type to filter", size.columns))


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
        ended = _run_prompt(state, lambda one, size: draw_picker(one, size, style), ends)
    else:
        ended = _run_prompt(state, lambda one, size: draw_text_prompt(one, size, style), ends)
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


# How soon a window that got another size is drawn anew.
_LOOK_SECONDS = 0.2
_NARROW = TerminalSize(80, 24)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"


class Answerable(Protocol):
    @property
    def stand(self) -> Stand: ...

    def after(self, press: Press) -> Self: ...


State = TypeVar("State", bound=Answerable)


class TerminalEnds(Struct, frozen=True):
    """The descriptors that keys come from and lines go to."""

    keys: int = 0
    lines: int = 2

    def size(self) -> TerminalSize:
        try:
            found = os.get_terminal_size(self.lines)
        except OSError:
            return _NARROW
        # Some terminals do not know, and say nothing.
        return TerminalSize(found.columns or _NARROW.columns, found.lines or _NARROW.rows)


def _run_prompt(
    first: State, draw: Callable[[State, TerminalSize], tuple[str, ...]], ends: TerminalEnds
) -> State:
    """Run the prompt and return its final state, answered or cancelled. The drawn lines are
    erased."""
    with _enter_raw_mode(ends.keys), _hide_cursor(ends.lines):
        return _TerminalLines(ends).until_answered(first, draw)


class _TerminalLines:
    """The drawn lines, so that they can be overwritten."""

    def __init__(self, ends: TerminalEnds) -> None:
        self._ends = ends
        self._lines: tuple[str, ...] = ()
        self._size = _NARROW

    def until_answered(
        self, state: State, draw: Callable[[State, TerminalSize], tuple[str, ...]]
    ) -> State:
        try:
            while state.stand is Stand.OPEN:
                self._show(draw(state, self._ends.size()))
                state = _apply_keys(state, self._read_keys())
        finally:
            self._show(())
        return state

    def _read_keys(self) -> tuple[Press, ...]:
        """Read keys; none if only the window size changed."""
        while not _is_readable(self._ends.keys, _LOOK_SECONDS):
            if self._ends.size() != self._size:
                return ()
        byte = _read(self._ends.keys)
        return parse_keys_typed(byte, self._read_byte) if byte else (Key.CANCEL,)

    def _read_byte(self, seconds: float) -> bytes:
        return _read(self._ends.keys) if _is_readable(self._ends.keys, seconds) else b""

    def _show(self, lines: tuple[str, ...]) -> None:
        """Draw in one write from the first line. Lines can have wrapped after a resize."""
        self._size = self._ends.size()
        rows = sum(_count_rows(line, self._size) for line in self._lines)
        back = f"\x1b[{rows}A\r" if rows else "\r"
        body = "".join(f"{escape_for_terminal(line)}\x1b[K\r\n" for line in lines)
        _write(self._ends.lines, f"{back}{body}\x1b[J")
        self._lines = lines


def _apply_keys(state: State, keys: tuple[Press, ...]) -> State:
    for press in keys:
        if state.stand is Stand.OPEN:
            state = state.after(press)
    return state


def _count_rows(line: str, size: TerminalSize) -> int:
    return max(1, -(-measure_cells(_COLOURS.sub("", escape_for_terminal(line))) // size.columns))


@contextlib.contextmanager
def _enter_raw_mode(keys: int) -> Iterator[None]:
    """Read single keys without echo. Keys typed early stay for the next prompt."""
    before = termios.tcgetattr(keys)
    try:
        tty.setraw(keys, termios.TCSADRAIN)
        yield
    finally:
        termios.tcsetattr(keys, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _hide_cursor(lines: int) -> Iterator[None]:
    _write(lines, _HIDE)
    try:
        yield
    finally:
        _write(lines, _SHOW)


def _write(fd: int, text: str) -> None:
    """Write to the terminal. If it is gone, nothing is shown, and its end of input ends the
    prompt."""
    with contextlib.suppress(OSError):
        write_all(fd, text.encode())


def _is_readable(fd: int, seconds: float) -> bool:
    return bool(select.select([fd], [], [], seconds)[0])


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1)
    except OSError:  # the terminal was closed
        return b""
