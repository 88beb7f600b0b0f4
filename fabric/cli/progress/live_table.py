"""Many services on a terminal: a table that is drawn anew ten times a second, lines above it."""

import os
import threading

from fabric.cli.progress.lines import order
from fabric.cli.progress.log_lines import LogLines
from fabric.cli.screen import safe
from fabric.engine.listeners.service_progress import ServiceProgress
from fabric.model.events import Stamped, TaskStarted
from fabric.system.clock import Clock
from fabric.views.board import Frame, board_lines

_REDRAW_SECONDS = 0.1
_NARROW = Frame(80, 24)


class LiveTable:
    """Events only change the count; one thread draws, so that no burst of them is slowed down."""

    def __init__(self, talk: LogLines, tally: ServiceProgress, clock: Clock) -> None:
        self._talk = talk
        self._tally = tally
        self._clock = clock
        self._begin: float | None = None
        self._lines: list[str] = []
        self._drawn = 0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._drawer = threading.Thread(target=self._draw_on, daemon=True)

    def hear(self, event: Stamped) -> None:
        with self._lock:
            lines = self._talk.lines(event)
            # What has begun is in the table itself.
            self._lines += [] if isinstance(event.event, TaskStarted) else lines
        if self._begin is None:
            self._begin = self._clock.monotonic() - event.elapsed
            self._drawer.start()

    def close(self) -> None:
        """The table goes, the lines stay."""
        self._over.set()
        if self._begin is not None:
            self._drawer.join()
        self._draw([])

    def _draw_on(self) -> None:
        while not self._over.wait(_REDRAW_SECONDS):
            with self._lock:
                elapsed = self._clock.monotonic() - (self._begin or 0.0)
                board = self._tally.board(elapsed)
            self._draw(board_lines(board, _frame(), self._talk.style))

    def _draw(self, table: list[str]) -> None:
        """In one piece, so that nobody sees half of it."""
        with self._lock:
            lines, self._lines = self._lines, []
        # Written over, not erased first: it would flicker, and fill some terminals' history.
        back = f"\x1b[{self._drawn}A\r" if self._drawn else ""
        body = "".join(f"{safe(line)}\x1b[K\n" for line in (*lines, *table))
        order(f"{back}{body}\x1b[J")
        self._drawn = len(table)


def _frame() -> Frame:
    """The terminal, without its last column and two lines: a full one would scroll."""
    try:
        size = os.get_terminal_size(2)
    except OSError:
        return _NARROW
    return Frame(max(1, size.columns - 1), max(1, size.lines - 2))
