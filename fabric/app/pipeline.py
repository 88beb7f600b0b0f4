"""The use cases of the engine: services to a graph, a graph to a plan, a plan to a result."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from fabric.app.project import Project, open_project
from fabric.app.request import Request, caps_of
from fabric.app.room import Opening, Room, open_room
from fabric.app.settings import Settings
from fabric.config.plan_checks import plan_problems
from fabric.engine.bus import Bus, Listener
from fabric.engine.result import Outcome, RunResult
from fabric.engine.run import Job, Run
from fabric.engine.warm import NONE, Others, Site
from fabric.graph.compile import Verb, compile_graph
from fabric.graph.plan import Plan, make_plan
from fabric.graph.taskgraph import TaskGraph
from fabric.model.events import RunEnded, RunStarted
from fabric.model.names import TaskId
from fabric.model.problems import FabricError, Problem
from fabric.model.spelling import nearest
from fabric.system.clock import SystemClock
from fabric.system.process import kill_children

MakeListeners = Callable[[str, Path], Sequence[Listener]]


@dataclass(frozen=True, slots=True)
class Compiled:
    project: Project
    graph: TaskGraph


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended. `others` are the tasks that no edit reached and nobody looked at again."""

    site: Site
    result: RunResult
    run_id: str
    others: Others = NONE


AfterRun = Callable[[Room, Ran], None]
AfterPlan = Callable[[Room, Compiled, Plan], None]


@dataclass(frozen=True, slots=True)
class Work:
    """A graph to run, at a place, with what is known of it already."""

    site: Site
    graph: TaskGraph
    known: Mapping[int, Outcome]
    others: Others = NONE
    warm: bool = False


def time_ns() -> int:
    """When a command began, as files are stamped: what moves later may not be relied on."""
    return int(SystemClock().now().timestamp() * 1e9)


def compiled(request: Request, settings: Settings) -> Compiled:
    project = open_project(request.where, settings)
    _refuse_unplannable(project, request.verb)
    _refuse_unknown_functions(project, request.functions)
    graph = compile_graph(project.units, request.verb, functions=request.functions)
    return Compiled(project, graph)


def planned(request: Request, settings: Settings, after: AfterPlan) -> tuple[Compiled, Plan]:
    """What a run would do; touches nothing but the cache, and that only if there is one."""
    opening = Opening(time_ns(), create=False)
    work = compiled(request, settings)
    with open_room(work.project.workspace, settings, opening) as room:
        room.stores.ledger.expect(len(work.graph))
        made = make_plan(work.graph, room.stepper.memory)
        after(room, work, made)
        return work, made


def whole(work: Compiled) -> Work:
    """All tasks of a compiled project."""
    project = work.project
    site = Site(str(project.workspace), project.stage, project.warnings)
    return Work(site, work.graph, {})


def carry_out(
    request: Request,
    settings: Settings,
    work: Work,
    started_ns: int,
    outlets: tuple[MakeListeners, AfterRun],
) -> Ran:
    """Run the graph. The second outlet hears the end while the stores are still open."""
    caps = caps_of(request.concurrency, settings.cores)
    clock = SystemClock()
    run_id = new_run_id(clock)
    workspace = Path(work.site.workspace)
    opening = Opening(started_ns, use_cache=request.use_cache, warm=work.warm)
    make_listeners, after = outlets
    with open_room(workspace, settings, opening) as room:
        seconds = _prepared(work, room)
        bus = Bus(run_id, clock, make_listeners(run_id, workspace))
        job = Job(work.graph, caps, seconds, work.known, fail_fast=request.fail_fast)
        total = len(work.graph) - len(work.known)
        try:
            count = len(work.graph) + len(work.others)
            bus.emit(RunStarted(request.command, count, total, work.site.stage))
            result = _carried_out(Run(job, room.stepper, bus, clock))
            bus.emit(run_ended(result, len(work.others)))
        finally:
            bus.close()
        done = Ran(work.site, result, run_id, work.others)
        room.stores.ledger.flush()
        after(room, done)
    return done


def _prepared(work: Work, room: Room) -> tuple[float, ...]:
    """Known results where the stepper finds them, and how long each task took last time."""
    room.stores.ledger.expect(0 if work.warm else len(work.graph))
    for number, outcome in work.known.items():
        room.stepper.know(work.graph.tasks[number], outcome)
    return durations(work.graph, room)


def durations(graph: TaskGraph, room: Room) -> tuple[float, ...]:
    """How long each task took last time; a task that never ran counts as one second."""
    traces = room.stores.ledger.traces
    return tuple(_last_seconds(traces, task_id) for task_id in graph.ids)


def _last_seconds(traces: Callable[[TaskId], Sequence[object]], task_id: TaskId) -> float:
    last = next(iter(traces(task_id)), None)
    return getattr(last, "ms", 1000) / 1000


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


def _carried_out(run: Run) -> RunResult:
    with _stoppable(run):
        return run.go()


@contextmanager
def _stoppable(run: Run) -> Iterator[None]:
    """First signal: start nothing new. Second: end at once."""
    told = False

    def hear(number: int, frame: FrameType | None) -> None:
        del number, frame
        nonlocal told
        if told:
            kill_children()
            raise KeyboardInterrupt
        told = True
        run.ask_to_stop()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    try:
        before = {number: signal.signal(number, hear) for number in numbers}
    except ValueError:  # not the main thread: the daemon has its own way to stop a run
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _refuse_unplannable(project: Project, verb: Verb) -> None:
    if verb is not Verb.DEPLOY:
        return
    problems = [problem for unit in project.units for problem in plan_problems(unit.config)]
    if problems:
        raise FabricError(*problems)


def _refuse_unknown_functions(project: Project, functions: frozenset[str]) -> None:
    known = sorted({one.name for unit in project.units for one in unit.config.functions})
    unknown = sorted(functions - set(known))
    if unknown:
        raise FabricError(*(_unknown_function(name, known) for name in unknown))


def _unknown_function(name: str, known: Sequence[str]) -> Problem:
    guess = nearest(name, known)
    hint = f"did you mean `{guess}`?" if guess else "functions here: " + ", ".join(known[:12])
    return Problem("usage/unknown-function", f"no function is named `{name}`", hint=hint)
