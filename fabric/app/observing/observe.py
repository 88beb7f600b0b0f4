"""`logs`, `metrics` and `traces`: query all services and providers in parallel tasks."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from fabric.app.observing.line_merge import sort_lines
from fabric.app.observing.parse_options import Observing
from fabric.app.observing.targets import ObservedTarget, ObservedTargets, open_observed_targets
from fabric.app.request import Request
from fabric.app.run_graph import GraphJob, run_graph
from fabric.app.run_problems import list_run_problems
from fabric.app.session import Session, SessionOptions
from fabric.app.settings import Settings
from fabric.engine.result import RunResult
from fabric.engine.run_info import MakeListeners
from fabric.graph.observations import build_observation_graph, build_observation_id
from fabric.model.observed import FunctionNumbers, LogLine, TracedCall, format_moment
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.model.outcomes.watched import (
    LogsOutcome,
    MetricsOutcome,
    TracesOutcome,
    build_line_row,
    build_numbers_row,
    trace_row,
)
from fabric.model.problems import ExitCode, Problem, exit_code_of
from fabric.model.project_info import ProjectInfo
from fabric.model.report import Report
from fabric.providers.core.contract import CallContext
from fabric.system.clock import read_file_time_ns
from fabric.tasks.observe import ObserveKind

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
        result = run_looks(request, settings, (asked.kind, targets, look), make_listeners)
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


def run_looks(
    request: Request,
    settings: Settings,
    work: tuple[str, ObservedTargets, Look],
    make_listeners: MakeListeners,
) -> RunResult:
    """Run all queries in parallel. They use no compute slots, and followed ones never end."""
    kind, targets, look = work
    graph = build_observation_graph(kind, [one.ref for one in targets.targets])
    looks = {
        build_observation_id(kind, one.ref): _bind_target(look, one) for one in targets.targets
    }
    opening = SessionOptions(
        read_file_time_ns(settings.cwd),
        use_cache=False,
        create=False,
        keeps=False,
        kinds={kind: ObserveKind(looks)},
    )
    request = replace(request, concurrency=str(max(len(looks), 1)))
    workspace = targets.workspace
    info = ProjectInfo(str(workspace), targets.stage)
    with Session(workspace, settings, opening) as session:
        return run_graph(request, session, GraphJob(info, graph), make_listeners)


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
