"""What `fabric build` and `fabric plan` do, over the benchmark's graph instead of a config.

The engine is used as fabric.app uses it: the warm part if stage 0 saw what moved, else the whole.
"""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.copygraph import KINDS, REGISTRY, Shape
from benchmarks.stores import opened, own_seal
from fabric import manifest, stage_zero
from fabric.engine.bus import Bus
from fabric.engine.listeners.journal import RunJournal
from fabric.engine.memory.memo import SealedPath
from fabric.engine.result import RunResult, Status
from fabric.engine.run import Job, Run
from fabric.engine.schedule import Caps
from fabric.engine.shortcuts import last_run as packed
from fabric.engine.shortcuts import last_run_file, stored_graph
from fabric.engine.shortcuts.answers import (
    AnswerChange,
    CommandCall,
    StoredAnswer,
    collect_basis,
    compute_path_prefix,
    list_result_traces,
    renew_answer,
    store_answer,
)
from fabric.engine.task_runner import Stores, TaskRunner
from fabric.graph.taskgraph import TaskGraph
from fabric.model.project_info import ProjectInfo
from fabric.system.clock import SystemClock

if TYPE_CHECKING:
    from fabric.engine.shared.shared_cache import SharedCache

CONFIG = "graph.json"
_CAPS = Caps(total=16, cpu=2)


class Desk(Struct, frozen=True):
    """A command line in its folder, and when it began."""

    argv: tuple[str, ...]
    root: Path
    started_ns: int

    @property
    def cache(self) -> Path:
        return self.root / ".fabric" / "cache"

    @property
    def sealed_cache(self) -> SealedPath:
        return SealedPath(self.cache, own_seal(self.root))

    @property
    def last_run(self) -> last_run_file.LastRunFiles:
        seal = own_seal(self.root)
        return last_run_file.LastRunFiles(self.answers, self.argv, str(self.root), seal)

    @property
    def answers(self) -> str:
        return str(self.cache / manifest.FOLDER)

    @property
    def asked(self) -> CommandCall:
        return CommandCall(self.argv, str(self.root), frozenset(), os.environ)


def run(argv: tuple[str, ...]) -> int:
    clock = SystemClock()
    tools = Desk(argv, Path.cwd(), int(clock.now().timestamp() * 1e9))
    if argv[0] == "plan":
        return _plan(tools)
    start = _warm_start(tools)
    return _whole(tools) if start is None else _part(tools, *start)


def _graph(tools: Desk) -> TaskGraph:
    """The graph as it was kept, or compiled again, as fabric.app.project.compile does it."""
    asked = ("graph", str(tools.root))
    kept = stored_graph.load(tools.sealed_cache, asked, os.environ, KINDS)
    if kept:
        return kept.graph
    graph = _woven(tools)
    info = ProjectInfo(str(tools.root), "dev")
    sources = frozenset({str(tools.root / CONFIG)})
    made = stored_graph.StoredGraph(info, graph, (), sources, frozenset())
    stored_graph.save(tools.sealed_cache, asked, os.environ, made, tools.started_ns)
    return graph


def _woven(tools: Desk) -> TaskGraph:
    from benchmarks.copygraph import tasks
    from fabric.graph.build_graph import build_graph

    shape = json.loads((tools.root / CONFIG).read_text())
    return build_graph(tasks(Shape(shape["services"], shape["functions"])))


def _plan(tools: Desk) -> int:
    from fabric.graph.plan import make_plan

    with opened(tools.root, tools.cache, tools.started_ns) as stores:
        graph = _graph(tools)
        stores.trace_store.expect(len(graph))
        made = make_plan(graph, TaskRunner(stores, REGISTRY, SystemClock()).memory)
    rows = [
        {
            "id": task.id,
            "kind": task.kind,
            "service": task.inputs.service,
            "level": level,
            "dependsOn": [graph.ids[need] for need in needs],
            "action": decision.action.value,
            "reason": decision.reason,
            "inputs": decision.inputs,
            "key": decision.key,
        }
        for task, level, needs, decision in zip(
            graph.tasks, graph.level_of, graph.needs, made.decisions, strict=True
        )
    ]
    sys.stdout.write(json.dumps({"tasks": rows, "levels": graph.levels}) + "\n")
    return 0


def _warm_start(tools: Desk) -> tuple[stage_zero.MovedFiles, packed.LastRun, packed.Reached] | None:
    moved_files = stage_zero.last
    if moved_files is None:
        return None
    warm = last_run_file.load_last_run(tools.last_run, moved_files.salt)
    if warm is None:
        return None
    dirty = warm.dirty(
        manifest.list_changed(moved_files.paths, moved_files.before, moved_files.now)
    )
    return (
        None
        if dirty is None
        else (moved_files, warm, packed.find_reached_tasks(warm, dirty, KINDS))
    )


def _whole(tools: Desk) -> int:
    shared = _shared(tools)
    with opened(tools.root, tools.cache, tools.started_ns, shared=shared) as stores:
        graph = _graph(tools)
        stores.trace_store.expect(len(graph))
        runner = TaskRunner(stores, REGISTRY, SystemClock())
        if shared is not None:
            shared.tell(graph, runner.memory, stores.trace_store)
            _give(shared, stores)
        traces = stores.trace_store.traces
        seconds = tuple(next((one.ms for one in traces(name)), 1000) / 1000 for name in graph.ids)
        result = _carried_out(Job(graph, _CAPS, seconds), runner)
        stores.trace_store.flush()
        if shared is not None:
            shared.finish()
        if result.ok:
            _keep(tools, stores, result)
    return _told(result, 0)


def _shared(tools: Desk) -> "SharedCache | None":
    """As `fabric.app.caching.shared_cache` opens it, for this graph's kinds of tasks."""
    if not os.environ.get("FABRIC_REMOTE_CACHE_URL"):
        return None
    from fabric.app.caching.shared_cache import open_access
    from fabric.app.request import Request
    from fabric.app.settings import read_settings
    from fabric.engine.shared.stored_segments import StoredSegments
    from fabric.model.names import Verb

    cache = open_access(Request(Verb.BUILD, "build"), read_settings()).cache
    assert cache is not None
    cache.link = replace(cache.link, kinds=frozenset(KINDS))
    cache.begin(StoredSegments(tools.cache))
    return cache


def _give(shared: "SharedCache", stores: Stores) -> None:
    if shared.link.writes:
        from fabric.engine.shared.publishing import Publishing

        content = stores.blobs.here
        shared.gives(Publishing(shared.link, shared.uploads, SystemClock(), content))


def _part(
    tools: Desk, moved_files: stage_zero.MovedFiles, warm: packed.LastRun, part: packed.Reached
) -> int:
    with opened(tools.root, tools.cache, tools.started_ns, warm=True) as stores:
        runner = TaskRunner(stores, REGISTRY, SystemClock())
        for number, outcome in part.known.items():
            runner.know(part.graph.tasks[number], outcome)
        seconds = tuple(warm.trace(number).ms / 1000 for number in part.numbers)
        result = _carried_out(Job(part.graph, _CAPS, seconds, part.known), runner)
        stores.trace_store.flush()
        if result.ok:
            _renew(tools, stores, (moved_files, warm, part), result)
    return _told(result, warm.count - len(part.numbers))


def _carried_out(job: Job, runner: TaskRunner) -> RunResult:
    clock = SystemClock()
    run_id = f"{clock.now():%Y%m%dT%H%M%S-%f}"
    bus = Bus(run_id, clock, [RunJournal(runner.workspace / ".fabric" / "runs", run_id)])
    try:
        return Run(job, runner, bus, clock).go()
    finally:
        bus.close()


def _keep(tools: Desk, stores: Stores, result: RunResult) -> None:
    pairs = list_result_traces(result)
    if pairs is None:
        return
    basis = collect_basis(pairs, [str(tools.root / CONFIG)])
    answer = StoredAnswer(0, _line(0, len(result.graph)), "")
    salt = store_answer(tools.answers, tools.asked, basis, stores.files, answer)
    if salt is None:
        return
    prefix = compute_path_prefix(stores.files, str(tools.root))
    info = ProjectInfo(str(tools.root), "dev")
    kept = packed.pack_finished_run(salt, info, result, stores.trace_store.traces, prefix)
    last_run_file.save_last_run(tools.last_run, kept)


def _renew(
    tools: Desk,
    stores: Stores,
    start: tuple[stage_zero.MovedFiles, packed.LastRun, packed.Reached],
    result: RunResult,
) -> None:
    moved_files, warm, part = start
    pairs = list_result_traces(result)
    if pairs is None:
        return
    wave = {n for place, n in enumerate(part.numbers) if place not in part.known}
    prefix = compute_path_prefix(stores.files, str(tools.root))
    dropped = warm.only_of(wave, prefix, KINDS)
    ran_now = [pair for place, pair in enumerate(pairs) if place not in part.known]
    change = AnswerChange(collect_basis(ran_now, ()), dropped)
    answer = StoredAnswer(0, _line(0, warm.count), "")
    salt = renew_answer(moved_files, tools.asked, change, stores.files, answer)
    if salt is None:
        return
    whole = packed.complete_result(warm, part, result, KINDS)
    again = packed.update_packed_run(warm, salt, part, whole, prefix)
    last_run_file.save_renewed_run(tools.last_run, again)


def _told(result: RunResult, others: int) -> int:
    ran = result.count(Status.RAN)
    sys.stdout.write(_line(ran, result.count(Status.SKIPPED) + others))
    for problem in result.problems[:3]:
        sys.stderr.write(f"{problem.message}\n")
    return int(result.exit_code)


def _line(ran: int, skipped: int) -> str:
    return f"ran {ran}, skipped {skipped}\n"
