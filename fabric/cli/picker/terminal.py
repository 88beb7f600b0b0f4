"""The terminal loop: read a key, draw the prompt. The terminal is always restored."""

import contextlib
import os
import re
import select
import termios
import tty
from collections.abc import Callable, Iterator
from typing import Protocol, Self, TypeVar

from msgspec import Struct

from fabric.cli.picker.drawn import TerminalSize, measure_cells
from fabric.cli.picker.keys import Key, Press, parse_keys_typed
from fabric.cli.picker.state import Stand
from fabric.cli.screen import escape_for_terminal
from fabric.system.disk import write_all

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


def run_prompt(
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
