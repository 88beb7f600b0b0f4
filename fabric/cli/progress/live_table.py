"""A run on a terminal: rows redrawn ten times per second, with lines above them."""

import threading

from fabric.cli.progress.lines import order
from fabric.cli.progress.log_lines import LogLines
from fabric.cli.progress.tables import LiveRows
from fabric.cli.screen import escape_for_terminal
from fabric.model.events import Stamped, TaskStarted
from fabric.system.clock import Clock

_REDRAW_SECONDS = 0.1


class LiveTable:
    """Events only update counts. One thread draws, so that bursts of events are not slowed down."""

    def __init__(self, talk: LogLines, rows: LiveRows, clock: Clock) -> None:
        self._talk = talk
        self._rows = rows
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
            self._rows.hear(event)
            # What has begun is in the table itself.
            self._lines += [] if isinstance(event.event, TaskStarted) else lines
        if self._begin is None:
            self._begin = self._clock.monotonic() - event.elapsed
            self._drawer.start()

    def close(self) -> None:
        """Erase the table. The lines stay."""
        self._over.set()
        if self._begin is not None:
            self._drawer.join()
        self._draw([])

    def _draw_on(self) -> None:
        while not self._over.wait(_REDRAW_SECONDS):
            with self._lock:
                elapsed = self._clock.monotonic() - (self._begin or 0.0)
                rows = self._rows.lines(elapsed)
            self._draw(rows)

    def _draw(self, table: list[str]) -> None:
        """Draw in one write, to avoid flicker."""
        with self._lock:
            lines, self._lines = self._lines, []
        # Written over, not erased first: it would flicker, and fill some terminals' history.
        back = f"\x1b[{self._drawn}A\r" if self._drawn else ""
        body = "".join(f"{escape_for_terminal(line)}\x1b[K\n" for line in (*lines, *table))
        order(f"{back}{body}\x1b[J")
        self._drawn = len(table)
