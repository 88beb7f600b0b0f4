"""The use cases of the engine: services to a graph, a graph to a plan, a plan to a result."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.compile import compiled
from fabric.app.project.compiled import Compiled
from fabric.app.request import Request, caps_of
from fabric.app.session import Session, SessionOptions, open_session
from fabric.app.settings import Settings
from fabric.app.signals import carried_out
from fabric.engine.bus import Bus
from fabric.engine.memory.made_elsewhere import NOTHING, MadeElsewhere
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.run import Job, Run
from fabric.engine.run_info import MakeListeners, RunInfo
from fabric.engine.shortcuts.last_run import NONE, ProjectInfo, Untouched
from fabric.graph.critical_path import UNTIMED_S
from fabric.graph.decide import UP_TO_DATE, Action
from fabric.graph.plan import Plan, make_plan, taken
from fabric.graph.taskgraph import TaskGraph
from fabric.model.events import ProblemFound, RunEnded, RunStarted, TaskEnded
from fabric.model.problems import FabricError, Problem
from fabric.model.task import RECORD_KINDS, VendorInputs
from fabric.system.clock import SystemClock, file_time_ns
from fabric.system.file_systems import is_network
from fabric.tasks.build import BuildKind

if TYPE_CHECKING:
    from fabric.app.deploy.scope import DeployScope
    from fabric.app.deploy.tools import RecordTools


class Ran(Struct, frozen=True):
    """How a run ended. `others` are the tasks that no edit reached and nobody looked at again."""

    info: ProjectInfo
    result: RunResult
    run_id: str
    others: Untouched = NONE


AfterRun = Callable[[Session, Ran], None]
AfterPlan = Callable[[Session, Compiled, Plan, frozenset[str]], None]


Undo = Callable[[Session, Bus, RunResult], RunResult]


class GraphJob(Struct, frozen=True):
    """A graph to run, at a place, with what is known of it already; a `scope` if it changes one.
    What does not `keep` neither reads nor writes a cache."""

    info: ProjectInfo
    graph: TaskGraph
    known: Mapping[int, Outcome]
    others: Untouched = NONE
    warm: bool = False
    scope: "DeployScope | None" = None
    keeps: bool = True
    elsewhere: MadeElsewhere = NOTHING


class RunHooks(Struct, frozen=True):
    """Who hears the run, who is told of its end while the stores are open, and what is to be done
    before that end is announced."""

    make_listeners: MakeListeners
    after: AfterRun = lambda _room, _ran: None
    undo: Undo = lambda _room, _bus, result: result


def planned(
    work: Compiled,
    settings: Settings,
    after: AfterPlan,
    tools: "RecordTools | None" = None,
    ready: Callable[[Session], None] = lambda _: None,
) -> Plan:
    """What a run would do; touches nothing but the cache, and that only if there is one."""
    opening = SessionOptions(file_time_ns(settings.cwd), create=False, tools=tools)
    with open_session(Path(work.info.workspace), settings, opening) as session:
        session.stores.trace_store.expect(len(work.graph))
        ready(session)
        made = make_plan(work.graph, session.runner.memory)
        if not session.runner.elsewhere.trusted.isdisjoint(taken(made)):
            # What a stale task takes has to be here: it is planned as what is made on the way.
            session.runner.believe(session.runner.elsewhere.without(taken(made)))
            made = make_plan(work.graph, session.runner.memory)
        after(session, work, made, _entries(made, session))
        return made


def _entries(made: Plan, session: Session) -> frozenset[str]:
    """The source files where builds would begin; all that are missing are reported at once."""
    kind = session.registry["build"]
    entries: set[str] = set()
    problems: list[Problem] = []
    for task, decision in zip(made.graph.tasks, made.decisions, strict=True):
        if isinstance(kind, BuildKind) and task.kind == "build" and decision.action is Action.RUN:
            try:
                entries.add(kind.entry(task))
            except FabricError as error:
                problems += error.problems
    if problems:
        raise FabricError(*problems)
    return frozenset(entries)


def compiled_and_locked(request: Request, settings: Settings) -> Compiled:
    """For a run: requirements without exact versions are pinned first, so that keys are stable."""
    work = compiled(request, settings)
    asked = [one for one in work.graph.inputs_of("vendor") if isinstance(one, VendorInputs)]
    if not asked:
        return work
    from fabric.runtimes.vendor import lock_requirements

    workspace = Path(work.info.workspace)
    warnings = lock_requirements(workspace, asked, settings.env)
    if not warnings:
        return work
    again = compiled(request, settings)
    info = replace(again.info, warnings=(*again.info.warnings, *warnings))
    return replace(again, info=info)


def whole(work: Compiled) -> GraphJob:
    """All tasks of a compiled project."""
    return GraphJob(work.info, work.graph, {})


def carry_out(
    request: Request,
    settings: Settings,
    work: GraphJob,
    started_ns: int,
    outlets: RunHooks,
) -> Ran:
    """Run the graph, and what has to follow on a failure."""
    clock = SystemClock()
    run_id = new_run_id(clock)
    workspace = Path(work.info.workspace)
    caps = caps_of(request.concurrency, settings.cores)
    tools = work.scope.tools if work.scope else None
    opening = SessionOptions(
        started_ns, use_cache=request.use_cache, warm=work.warm, homes=_homes(work), tools=tools,
        keeps=work.keeps,
    )  # fmt: skip
    with open_session(workspace, settings, opening) as session:
        job = Job(
            work.graph, caps, _prepared(work, session), work.known, fail_fast=request.fail_fast
        )
        info = _scene(job, run_id, _home(request, workspace))
        bus = Bus(run_id, clock, outlets.make_listeners(info))
        _hear_talk(bus, session, work)
        count = len(work.graph) + len(work.others)
        total = len(work.graph) - len(work.known)
        try:
            bus.emit(RunStarted(request.command, count, total, work.info.stage))
            result = carried_out(Run(job, session.runner, bus, clock))
            result = outlets.undo(session, bus, result)
            bus.emit(run_ended(result, len(work.others)))
        finally:
            bus.close()
        _remember(session, result)
        done = Ran(_told_of_places(work.info, work.graph, session), result, run_id, work.others)
        outlets.after(session, done)
    return done


def _scene(job: Job, run_id: str, home: Path) -> RunInfo:
    return RunInfo(run_id, home, job.graph, job.seconds, job.caps.total, frozenset(job.known))


def _home(request: Request, workspace: Path) -> Path:
    """Where the run's journal is kept."""
    return Path(request.where.home) if request.where.home else workspace / ".fabric"


def _hear_talk(bus: Bus, session: Session, work: GraphJob) -> None:
    session.runner.tell(bus.emit)
    if work.scope:
        work.scope.transaction.tell(
            lambda text: bus.emit(ProblemFound("", "warning", Problem("lock/waiting", text))),
            session.runner.go_on,
        )


def _homes(work: GraphJob) -> frozenset[Path]:
    """Where a run writes: the folder of the workspace's own things, and that of each service."""
    workspace = Path(work.info.workspace)
    roots = {str(getattr(task.inputs, "root", ".")) for task in work.graph.tasks}
    placements = work.scope.placements.values() if work.scope else ()
    return frozenset(
        (
            *(workspace / root / ".fabric" for root in (".", *roots)),
            *(Path(p.home) for p in placements),
        )
    )


def _told_of_places(info: ProjectInfo, graph: TaskGraph, session: Session) -> ProjectInfo:
    """Say it when nothing is kept for the next run, when tools of before are not used, or when the
    cache lies where several machines may write: it is safe, but slow."""
    builds = graph.inputs_of("build")
    bundles = any(getattr(one, "runtime", "").startswith("nodejs") for one in builds)
    found = (session.cache_problem, _network_problem(session), session.fetched if bundles else None)
    new = tuple(one for one in found if one and one not in info.warnings)
    return replace(info, warnings=(*info.warnings, *new)) if new else info


def _network_problem(session: Session) -> Problem | None:
    if not is_network(session.cache):
        return None
    return Problem(
        "cache/network",
        f"the cache `{session.cache}` lies on a network file system",
        hint="set FABRIC_CACHE_DIR to a local folder; the cache may be lost at any time",
    )


def _prepared(work: GraphJob, session: Session) -> tuple[float, ...]:
    """Known results where the stepper finds them, and how long each task took last time."""
    session.stores.trace_store.expect(0 if work.warm else len(work.graph))
    session.runner.believe(work.elsewhere)
    for number, outcome in work.known.items():
        session.runner.know(work.graph.tasks[number], outcome)
    return durations(work.graph, session)


def durations(graph: TaskGraph, session: Session) -> tuple[float, ...]:
    """How long each task took last time; for one that never ran a second is a guess."""
    last = map(session.stores.trace_store.last_ms, graph.ids)
    return tuple(UNTIMED_S if ms is None else ms / 1000 for ms in last)


def _remember(session: Session, result: RunResult) -> None:
    """What tasks that leave no trace are remembered by: how long they took."""
    for task, outcome in zip(result.graph.tasks, result.outcomes, strict=True):
        if outcome.status is Status.RAN and task.kind in RECORD_KINDS:
            session.stores.trace_store.durations.note(task.id, outcome.ms)
    session.stores.trace_store.flush()


def tell_idle(
    request: Request, info: ProjectInfo, graph: TaskGraph, make_listeners: MakeListeners
) -> None:
    """A run in which nothing was to be done, for the files of events that were asked for."""
    clock = SystemClock()
    run_id = new_run_id(clock)
    home = _home(request, Path(info.workspace))
    seconds = (0.0,) * len(graph)
    bus = Bus(run_id, clock, make_listeners(RunInfo(run_id, home, graph, seconds, is_idle=True)))
    result = RunResult(graph, (Outcome(Status.SKIPPED, UP_TO_DATE),) * len(graph), 0)
    try:
        bus.emit(RunStarted(request.command, len(graph), 0, info.stage))
        for task_id in graph.ids:
            bus.emit(TaskEnded(task_id, Status.SKIPPED, UP_TO_DATE, 0))
        bus.emit(run_ended(result, 0))
    finally:
        bus.close()


def run_ended(result: RunResult, others: int) -> RunEnded:
    counts = {status: 0 for status in ("ran", "skipped", "failed", "blocked", "cancelled")}
    for outcome in result.outcomes:
        counts[outcome.status] += 1
    status = "cancelled" if result.interrupted else "succeeded" if result.ok else "failed"
    return RunEnded(
        status,
        counts["ran"],
        counts["skipped"] + others,
        counts["failed"],
        counts["blocked"],
        result.ms,
    )


def new_run_id(clock: SystemClock) -> str:
    """Sorts by time; the tail keeps two runs of one moment apart."""
    now = clock.now()
    return f"{now:%Y%m%dT%H%M%S}-{now.microsecond:06d}"
