"""`logs`, `metrics` and `traces`: query all services and providers in parallel tasks."""

import datetime
import re
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.command import start_command
from fabric.app.observing.line_merge import sort_lines
from fabric.app.observing.targets import ObservedTarget, ObservedTargets, open_observed_targets
from fabric.app.request import Execution, Request
from fabric.app.running.run_graph import GraphJob, run_graph
from fabric.app.running.run_problems import list_run_problems
from fabric.app.session import SessionOptions, open_session
from fabric.app.settings import Settings
from fabric.engine.bus import MakeListeners
from fabric.engine.result import RunResult
from fabric.graph.probes import build_observation_graph, build_observation_id
from fabric.model.observed import (
    FunctionNumbers,
    LogLine,
    TimeWindow,
    TracedCall,
    convert_to_nanoseconds,
    format_moment,
)
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.model.outcomes.watched import (
    LogsOutcome,
    MetricsOutcome,
    TracesOutcome,
    build_line_row,
    build_numbers_row,
    trace_row,
)
from fabric.model.problems import ExitCode, FabricError, Problem, exit_code_of
from fabric.model.project_info import ProjectInfo
from fabric.model.report import Report
from fabric.model.time.time_spans import parse_seconds
from fabric.providers.core.contract import CallContext
from fabric.providers.core.observing import LogQuestion
from fabric.tasks.probe import ObserveKind

FORMS = "10m, 2h, 1d, 2026-01-02 or 2026-01-02T03:04:05Z"
_SPAN = re.compile(r"[\d.]+\s*[a-zA-Z]*")


def parse_moment(option: str, text: str, now: datetime.datetime) -> datetime.datetime:
    """Parse a moment. A duration means that long ago; a time without a zone is local."""
    if _SPAN.fullmatch(text.strip()):
        seconds = parse_seconds(option, text, "usage/bad-time")
        try:
            return now - datetime.timedelta(seconds=seconds)
        except OverflowError:
            raise _bad_moment_error(option, text) from None
    try:
        return datetime.datetime.fromisoformat(text.strip()).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        raise _bad_moment_error(option, text) from None


def _bad_moment_error(option: str, text: str) -> FabricError:
    message = f"invalid value for {option}: `{text}` is not a time"
    return FabricError(Problem("usage/bad-time", message, hint=f"use a value such as {FORMS}"))


class Observing(Struct, frozen=True):
    """An observation request. `text` and `level` filter lines.

    Without `platform`, provider messages are omitted.
    """

    # Logs, metrics or traces.
    kind: str
    window: TimeWindow
    text: str = ""
    level: str = ""
    # The maximum number of newest lines.
    most: int = 1_000
    platform: bool = False

    def question(self, window: TimeWindow | None = None, most: int = 0) -> LogQuestion:
        """Return the query for another time window and limit."""
        return LogQuestion(
            window or self.window, self.text, most or self.most, self.level, self.platform
        )


def parse_time_window(since: str, until: str, now: datetime.datetime) -> TimeWindow:
    """Parse a time window. It ends now by default."""
    begin = parse_moment("--since", since, now)
    end = parse_moment("--until", until, now) if until else now
    if begin >= end:
        message = f"--since {since} is not before " + (f"--until {until}" if until else "now")
        hint = "use an earlier --since, such as --since 2h --until 1h"
        raise FabricError(Problem("usage/bad-time", message, hint))
    # Nothing is kept of the time before clocks begin to count.
    return TimeWindow(max(convert_to_nanoseconds(begin), 0), max(convert_to_nanoseconds(end), 1))


Look: TypeAlias = Callable[[ObservedTarget, CallContext], None]


class _Found:
    """The results of all tasks, with their notices."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self.numbers: list[FunctionNumbers] = []
        self.traces: list[TracedCall] = []
        self.notes: list[str] = []
        self.guard = threading.Lock()


def observe(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    asked: Observing,
    *,
    one_trace: str = "",
) -> Report:
    found = _Found()
    with open_observed_targets(request, settings) as targets:
        look = _look(asked, targets, found)
        result = run_looks(request, settings, Looks(asked.kind, targets, look), make_listeners)
    problems = list_run_problems(result)
    outcome, missing = _build_outcome(asked, found, one_trace)
    problems = (*problems, *(missing if not problems else ()))
    notes = "\n".join(dict.fromkeys(found.notes))
    # Where nobody could be asked, "there is nothing" would be no answer.
    text = "" if problems and not (found.lines or found.numbers or found.traces) else None
    code = choose_exit_code(result) if not result.interrupted else result.exit_code
    return Report(
        command=request.command,
        outcome=outcome,
        text=text,
        notes=notes,
        problems=problems,
        warnings=targets.warnings,
        exit_code=code,
    )


def choose_exit_code(result: RunResult) -> ExitCode:
    """Choose the exit code. If only some targets respond, it is neither success nor failure."""
    if not result.problems:
        return ExitCode.OK
    bad = sum(bool(outcome.problems) for _, outcome in result.rows)
    if result.aftermath or bad == len(result.graph):
        return exit_code_of(result.problems[0])
    return ExitCode.PARTIAL


class Looks(Struct, frozen=True):
    """A query of logs, metrics or traces for each target."""

    kind: str
    targets: ObservedTargets
    look: Look


def run_looks(
    request: Request, settings: Settings, work: Looks, make_listeners: MakeListeners
) -> RunResult:
    """Run all queries in parallel. They use no compute slots, and followed ones never end."""
    kind, targets, look = work.kind, work.targets, work.look
    graph = build_observation_graph(kind, [one.ref for one in targets.targets])
    looks = {
        build_observation_id(kind, one.ref): _bind_target(look, one) for one in targets.targets
    }
    options = SessionOptions(kinds={kind: ObserveKind(looks)}, use_cache=False)
    request = replace(request, execution=Execution(concurrency=str(max(len(looks), 1))))
    command = start_command(request, settings)
    command = replace(command, caches=replace(command.caches, is_stored=False))
    workspace = targets.workspace
    info = ProjectInfo(str(workspace), targets.stage)
    with open_session(command, workspace, options) as session:
        return run_graph(session, GraphJob(info, graph), make_listeners)


def _bind_target(look: Look, target: ObservedTarget) -> Callable[[CallContext], None]:
    return lambda watch: look(target, watch)


def _look(asked: Observing, targets: ObservedTargets, found: _Found) -> Look:
    def look(target: ObservedTarget, watch: CallContext) -> None:
        observer = targets.observer(target, asked.kind)
        own = replace(watch, hear=lambda text: found.notes.append(f"{target.ref.service}: {text}"))
        match asked.kind:
            case "logs":
                question = asked.question()
                lines = observer.log_lines(target.service, question, own)
                told = [one for one in map(target.redact_line, lines) if question.takes(one)]
                with found.guard:
                    found.lines += told
            case "metrics":
                numbers = list(observer.numbers(target.service, asked.window, own))
                with found.guard:
                    found.numbers += numbers
            case _:
                traces = list(observer.traces(target.service, asked.window, own))
                with found.guard:
                    found.traces += map(target.redact_trace, traces)

    return look


def _build_outcome(
    asked: Observing, found: _Found, one_trace: str
) -> tuple[JsonStruct, tuple[Problem, ...]]:
    times = (format_moment(asked.window.since), format_moment(asked.window.until))
    match asked.kind:
        case "logs":
            lines = tuple(sort_lines(found.lines))[-asked.most :]
            return LogsOutcome(tuple(map(build_line_row, lines)), *times, lines), ()
        case "metrics":
            rows = sorted(found.numbers, key=lambda one: (one.service, one.function, one.provider))
            parts = tuple(one.over_time for one in rows)
            return MetricsOutcome(tuple(map(build_numbers_row, rows)), *times, parts), ()
    traces, missing = _select_traces(asked, found.traces, one_trace)
    rows_ = tuple(map(trace_row, traces))
    return TracesOutcome(rows_, *times, as_trees=bool(one_trace)), missing


def _select_traces(
    asked: Observing, found: Sequence[TracedCall], one_trace: str
) -> tuple[list[TracedCall], tuple[Problem, ...]]:
    every = sorted(found, key=lambda one: (one.started_at, one.id))
    if not one_trace:
        return every[-asked.most :], ()
    own = [one for one in every if one.id.startswith(one_trace)]
    if own:
        return own, ()
    hint = "run: fabric traces, or set an earlier --since"
    message = f"trace `{one_trace}` not found in this time range"
    return [], (Problem("observe/no-trace", message, hint),)
