"""The listeners of a run: terminal, run log, event file and profile."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from fabric.app.settings import Settings
from fabric.cli.progress.lines import LineProgress, print_progress
from fabric.cli.progress.live_table import LiveTable
from fabric.cli.progress.log_lines import LogLines, Logs
from fabric.cli.progress.tables import ServiceRows, TaskRows
from fabric.cli.screen import Screen
from fabric.engine.bus import Listener
from fabric.engine.listeners.chrome_trace import Profile
from fabric.engine.listeners.journal import EventFile, RunJournal
from fabric.engine.listeners.service_progress import ServiceProgress
from fabric.engine.run_info import RunInfo
from fabric.manifest import VERSION
from fabric.model.problems import FabricError
from fabric.system.traceparent import place_said
from fabric.system.tracing import ROOM, SpanExport, is_wanted

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
