"""The live table below the lines of a run."""

import os
from typing import Protocol

from fabric.engine.listeners.service_progress import ServiceProgress
from fabric.model.amounts import format_count
from fabric.model.events import RunStarted, Stamped, TaskEnded, TaskStarted
from fabric.views.board import Frame, format_board
from fabric.views.style import Style

_ROWS = 8
_NARROW = Frame(80, 24)


class LiveRows(Protocol):
    """The rows of the table. Not thread-safe: the drawing thread holds a lock."""

    def hear(self, event: Stamped) -> None: ...
    def lines(self, elapsed: float) -> list[str]: ...


class ServiceRows:
    """A row per service. The tally receives events along with the lines."""

    def __init__(self, tally: ServiceProgress, style: Style) -> None:
        self._tally, self._style = tally, style

    def hear(self, event: Stamped) -> None:
        pass

    def lines(self, elapsed: float) -> list[str]:
        return format_board(self._tally.board(elapsed), _measure_frame(), self._style)


class TaskRows:
    """A row for each running task, for how long it has been at it."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._running: dict[str, float] = {}
        self._total = self._ended = 0

    def hear(self, event: Stamped) -> None:
        match event.event:
            case RunStarted(_, tasks, _, _):
                self._total = tasks
            case TaskStarted(task, _):
                self._running[task] = event.elapsed
            case TaskEnded(task, _, _, _):
                self._ended += 1
                self._running.pop(task, None)
            case _:
                return

    def lines(self, elapsed: float) -> list[str]:
        if not self._running:
            return []
        names = sorted(self._running, key=lambda name: self._running[name])
        rows = [
            f"  {self._style.note('●')} {_cut(name)}  "
            + self._style.dim(f"{max(0.0, elapsed - self._running[name]):.1f} s")
            for name in names[:_ROWS]
        ]
        if len(names) > _ROWS:
            rows.append(self._style.dim(f"  … and {len(names) - _ROWS} more"))
        return [
            *rows,
            self._style.dim(f"  {self._ended} of {format_count(self._total, 'task')} done"),
        ]


def _cut(name: str) -> str:
    """A row that wraps cannot be drawn over."""
    room = max(1, _measure_frame().width - 16)
    return name if len(name) <= room else f"{name[: room - 1]}…"


def _measure_frame() -> Frame:
    """The terminal, without its last column and two lines: a full one would scroll."""
    try:
        size = os.get_terminal_size(2)
    except OSError:
        return _NARROW
    return Frame(max(1, size.columns - 1), max(1, size.lines - 2))
