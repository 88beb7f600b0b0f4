"""Plan and run a graph with its session, for every command."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.caching.shared_cache import NO_ACCESS
from fabric.app.caching.toolchains import unusable_tools_problem
from fabric.app.request import Request, parse_caps
from fabric.app.running.cancellable_run import get_held_run
from fabric.app.running.signals import run_until_signaled
from fabric.app.session import Session, finish_uploads, learn_shared_results
from fabric.app.settings import Settings
from fabric.engine.bus import Bus, MakeListeners, RunInfo
from fabric.engine.memory.traces import NOTHING, RemoteResults
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.run import Job, Run
from fabric.engine.run_tools import StopSign
from fabric.engine.schedule import Caps
from fabric.graph.critical_path import UNTIMED_S
from fabric.graph.decide import FROM_SHARED, UP_TO_DATE, Action
from fabric.graph.plan import Plan, judge_known, list_wanted_tasks, make_plan
from fabric.graph.taskgraph import TaskGraph
from fabric.model.problems import FabricError, Problem, raise_if_any
from fabric.model.project_info import ProjectInfo
from fabric.model.runs.events import RunEnded, RunStarted, TaskEnded
from fabric.model.task_inputs import RECORD_KINDS, WheelInputs
from fabric.system.clock import Clock
from fabric.system.crypto.randomness import Chance
from fabric.system.files.file_systems import is_network
from fabric.tasks.build import BuildKind
from fabric.tasks.wheel import WheelKind


class GraphJob(Struct, frozen=True):
    """A graph to run. `known` are earlier outcomes, `elsewhere` are shared traces from records."""

    info: ProjectInfo
    graph: TaskGraph
    known: Mapping[int, Outcome] = {}
    elsewhere: RemoteResults = NOTHING
    # Project tasks that are not in the graph.
    untouched: int = 0


def plan_graph(session: Session, graph: TaskGraph) -> Plan:
    """Plan the graph. Writes only to an existing cache."""
    session.stores.trace_store.expect(len(graph))
    learn_shared_results(session, graph)
    memory = replace(session.runner.memory, is_unrestored=session.runner.is_unrestored)
    plan = make_plan(graph, memory)
    elsewhere = session.runner.elsewhere
    if not elsewhere.trusted.isdisjoint(list_wanted_tasks(plan)):
        # What a stale task takes has to be here: it is planned as what is made on the way.
        session.runner.believe(elsewhere.without(list_wanted_tasks(plan)))
        plan = make_plan(graph, memory)
    return plan


def list_entry_files(session: Session, plan: Plan) -> frozenset[str]:
    """List the entry files of builds. All missing files are reported together."""
    kind = session.registry["build"]
    entries: set[str] = set()
    problems: list[Problem] = []
    for task, decision in zip(plan.graph.tasks, plan.decisions, strict=True):
        if isinstance(kind, BuildKind) and task.kind == "build" and decision.action is Action.RUN:
            try:
                entries.add(kind.entry(task))
            except FabricError as error:
                problems += error.problems
    raise_if_any(problems)
    return frozenset(entries)


def run_graph(session: Session, work: GraphJob, make_listeners: MakeListeners) -> RunResult:
    job = build_job(session, work)
    with announce_run(session, work, job, make_listeners) as bus:
        result = run_tasks(session, job, bus)
        bus.emit(run_ended(result, work.untouched))
    finish_uploads(session, result)
    return result


def build_job(session: Session, work: GraphJob) -> Job:
    """Build the job with cached results and the last duration of each task."""
    request = session.request
    session.stores.trace_store.expect(len(work.graph) if not work.untouched else 0)
    session.runner.believe(work.elsewhere)
    learn_shared_results(session, work.graph)
    for number, outcome in work.known.items():
        session.runner.know(work.graph.tasks[number], outcome)
    wheels = session.registry.get("wheel")
    if isinstance(wheels, WheelKind):
        wheels.expect(partial(_list_missing_wheels, session, work.graph))
    caps = parse_caps(request.execution.concurrency, session.settings.cores)
    if session.builds.threads_elsewhere:
        # Who waits for another machine needs no core of this one. One more is on its way there:
        # what lay in a queue could not be left undone any more when the run is to stop.
        caps = Caps(caps.total, min(caps.total, session.builds.threads_elsewhere + 1))
    seconds = estimate_seconds(session, work.graph)
    return Job(
        work.graph,
        caps,
        seconds,
        work.known,
        fail_fast=request.execution.fail_fast,
        keep_going=request.execution.keep_going,
    )


def _list_missing_wheels(session: Session, graph: TaskGraph) -> Iterator[WheelInputs]:
    memory = session.runner.memory
    for number in graph.numbers_of("wheel"):
        task = graph.tasks[number]
        is_missing = judge_known(task, (), memory).action is Action.RUN
        if is_missing and isinstance(task.inputs, WheelInputs):
            yield task.inputs


def estimate_seconds(session: Session, graph: TaskGraph) -> tuple[float, ...]:
    """Estimate each task's duration from its last run, or 1 s for a first run."""
    last = map(session.stores.trace_store.last_ms, graph.ids)
    return tuple(UNTIMED_S if ms is None else ms / 1000 for ms in last)


@contextmanager
def announce_run(
    session: Session, work: GraphJob, job: Job, make_listeners: MakeListeners
) -> Iterator[Bus]:
    """Open the event stream of a run with its start event. The caller sends the end."""
    run_id, clock = _run_id(session.settings), session.settings.clock
    home = choose_journal_home(session.request, work.info)
    info = RunInfo(
        run=run_id,
        home=home,
        graph=job.graph,
        seconds=job.seconds,
        width=job.caps.total,
        known=frozenset(job.known),
    )
    bus = Bus(run_id, clock, make_listeners(info))
    count = len(job.graph) + work.untouched
    total = len(job.graph) - len(job.known)
    try:
        bus.emit(RunStarted(session.request.command, count, total, work.info.stage))
        yield bus
    finally:
        bus.close()


def run_tasks(session: Session, job: Job, bus: Bus, stop: StopSign | None = None) -> RunResult:
    result = run_until_signaled(Run(job, session.runner, bus, session.settings.clock, stop))
    remember_durations(session, result)
    return result


def remember_durations(session: Session, result: RunResult) -> None:
    """Store the durations of tasks without traces."""
    for task, outcome in result.rows:
        if outcome.status is Status.RAN and task.kind in RECORD_KINDS:
            session.stores.trace_store.durations.note(task.id, outcome.ms)
    session.stores.trace_store.flush()


def is_answer_cacheable(session: Session, plan: Plan) -> bool:
    """Return whether the answer can be cached. With a shared cache it cannot, because others change
    it."""
    if session.shared == NO_ACCESS:
        return True
    is_here = (one.action is Action.SKIP and one.reason != FROM_SHARED for one in plan.decisions)
    return not session.shared.warnings and all(is_here)


def add_run_warnings(
    info: ProjectInfo, session: Session, result: RunResult | None = None
) -> ProjectInfo:
    """Add warnings of this run only, which no stored answer contains.

    Lost child processes of an interrupted run are expected and not reported.
    """
    lost = session.builds.lost_child if result and not result.interrupted else None
    said = (*session.shared.warnings, *((lost,) if lost else ()))
    told = tuple(one for one in said if one not in info.warnings)
    return replace(info, warnings=(*info.warnings, *told)) if told else info


def choose_journal_home(request: Request, info: ProjectInfo) -> Path:
    """Choose the directory of the run log."""
    return Path(request.where.home) if request.where.home else Path(info.workspace) / ".fabric"


def list_write_homes(info: ProjectInfo, graph: TaskGraph) -> frozenset[Path]:
    """List the directories that a run writes to: the workspace's `.fabric` and those of
    services."""
    unseen = {"vendor", "wheel", "git-wheel", "image-layers"}
    writing = (task.inputs for task in graph.tasks if task.kind not in unseen)
    roots = {str(getattr(inputs, "root", ".")) for inputs in writing}
    return frozenset(Path(info.workspace) / root / ".fabric" for root in (".", *roots))


def add_cache_warnings(info: ProjectInfo, graph: TaskGraph, session: Session) -> ProjectInfo:
    """Warn if nothing is cached, if downloaded tools are unusable, or if the cache is on a network
    drive.

    A network drive is safe but slow.
    """
    builds = graph.inputs_of("build")
    bundles = any(getattr(one, "runtime", "").startswith("nodejs") for one in builds)
    found = (
        session.cache_problem,
        _network_folder_problem(session),
        unusable_tools_problem(session.settings) if bundles else None,
    )
    new = tuple(one for one in found if one and one not in info.warnings)
    return replace(info, warnings=(*info.warnings, *new)) if new else info


def _network_folder_problem(session: Session) -> Problem | None:
    if not is_network(session.cache):
        return None
    return Problem(
        "cache/network",
        f"the cache `{session.cache}` is on a network file system, which is slow",
        hint="set FABRIC_CACHE_DIR to a local directory (the cache can be deleted at any time)",
    )


def tell_idle(
    request: Request, settings: Settings, work: GraphJob, make_listeners: MakeListeners
) -> None:
    """Write the requested event files for a run with nothing to do."""
    run_id, clock, graph = _run_id(settings), settings.clock, work.graph
    home = choose_journal_home(request, work.info)
    seconds = (0.0,) * len(graph)
    bus = Bus(run_id, clock, make_listeners(RunInfo(run_id, home, graph, seconds, is_idle=True)))
    result = RunResult(graph, (Outcome(Status.SKIPPED, UP_TO_DATE),) * len(graph), 0)
    try:
        bus.emit(RunStarted(request.command, len(graph), 0, work.info.stage))
        for task_id in graph.ids:
            bus.emit(TaskEnded(task_id, Status.SKIPPED, UP_TO_DATE, 0))
        bus.emit(run_ended(result))
    finally:
        bus.close()


def run_ended(result: RunResult, untouched: int = 0) -> RunEnded:
    status = "cancelled" if result.interrupted else "succeeded" if result.ok else "failed"
    return RunEnded(
        status=status,
        ran=result.count(Status.RAN),
        skipped=result.count(Status.SKIPPED) + untouched,
        failed=result.count(Status.FAILED),
        blocked=result.count(Status.BLOCKED),
        ms=result.ms,
    )


def _run_id(settings: Settings) -> str:
    held = get_held_run()
    return held.id if held else generate_run_id(settings.clock, settings.chance)


def generate_run_id(clock: Clock, chance: Chance) -> str:
    """Generate a run id that sorts by time. A random suffix separates simultaneous runs."""
    now = clock.now()
    return f"{now:%Y%m%dT%H%M%S}-{now.microsecond:06d}-{chance(4)}"
