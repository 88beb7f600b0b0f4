"""The listeners of a run: terminal, run log, event file and profile."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from fabric.app.settings import Settings
from fabric.cli.progress.lines import LineProgress, LogLines, Logs, order, print_progress
from fabric.cli.screen import Screen, escape_for_terminal
from fabric.engine.bus import Listener, RunInfo
from fabric.engine.listeners.chrome_trace import Profile
from fabric.engine.listeners.journal import EventFile, RunJournal
from fabric.engine.listeners.service_progress import ServiceProgress
from fabric.manifest import VERSION
from fabric.model.problems import FabricError
from fabric.model.runs.events import RunStarted, Stamped, TaskEnded, TaskStarted
from fabric.model.text.amounts import format_count
from fabric.system.clock import Clock
from fabric.system.traceparent import place_said
from fabric.system.tracing import ROOM, SpanExport, is_wanted
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


# Where a span of the caller stands: what called us may have begun the trace.
_CALLER = "TRACEPARENT"


class ListenerOptions(Struct, frozen=True):
    """Files that the user requested, and a trace collector; empty for none."""

    events: str
    profile: str = ""
    logs: Logs = Logs.FULL
    otlp: str = ""
    journal: bool = True


def build_run_listeners(
    screen: Screen, settings: Settings, options: ListenerOptions, info: RunInfo
) -> Sequence[Listener]:
    """Build the listeners once the run has an id and a directory."""
    heard: list[Listener] = []
    if options.journal and not info.is_idle:
        heard.append(RunJournal(info.home / "runs", info.run))
    if options.events:
        heard.append(_open_event_file(settings.cwd / Path(options.events), heard))
    if options.profile:
        heard.append(Profile(settings.cwd / Path(options.profile)))
    if options.logs is not Logs.NONE and not info.is_idle:
        heard.append(_build_terminal_listener(screen, settings, options.logs, info))
    if options.otlp or is_wanted(settings.env):
        heard += _trace(screen, settings, options.otlp, info)
    return heard


def _trace(screen: Screen, settings: Settings, otlp: str, info: RunInfo) -> Sequence[Listener]:
    """The run as one trace, for the collector that is named by the option or the environment."""
    from fabric.engine.listeners.run_spans import TracedRun  # only where somebody collects

    about = {"service.name": "fabric", "service.version": VERSION}

    def tell(message: str) -> None:
        print_progress(
            f"{screen.err.warn('warning')}: the trace of this run was not sent: {message}"
        )

    try:
        # All of a run that has nothing to do is told at once.
        room = max(ROOM, 2 * len(info.graph))
        export = SpanExport(settings.env, about, tell, otlp, room)
    except FabricError as error:
        tell(f"{error.first.message} ({error.first.hint})")
        return ()
    return (TracedRun(info.run, export, place_said(settings.env.get(_CALLER, ""))),)


def _open_event_file(path: Path, before: Sequence[Listener]) -> EventFile:
    """Open the event file. If it cannot be written, the earlier listeners are closed."""
    try:
        return EventFile(path)
    except FabricError:
        for one in before:
            one.close()
        raise


def _build_terminal_listener(
    screen: Screen, settings: Settings, logs: Logs, info: RunInfo
) -> Listener:
    tally = ServiceProgress(info) if info.many else None
    talk = LogLines(logs, screen.err, tally)
    live = settings.stderr_is_terminal and not settings.in_ci
    if not live or settings.env.get("TERM") == "dumb" or screen.as_json:
        return LineProgress(talk, github=settings.in_github)
    rows = TaskRows(screen.err) if tally is None else ServiceRows(tally, screen.err)
    return LiveTable(talk, rows, settings.clock)


# A run on a terminal: rows redrawn ten times per second, with lines above them.


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
