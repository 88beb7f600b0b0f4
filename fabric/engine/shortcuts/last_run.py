"""The last run, packed so that the next run reads only the tasks affected by an edit.

Independent of files: `last_run_file` stores it. Without it, a run checks everything, with the same
result.
"""

import marshal
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from fabric.engine.memory.pieces import Pieces
from fabric.engine.memory.trace_rows import decode_traces, encode_trace
from fabric.engine.output_folders import list_visible_files
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.shortcuts.packing import Kinds, LazySequence, pack_inputs
from fabric.graph.decide import UP_TO_DATE
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.traces import Trace
from fabric.model.project_info import ProjectInfo
from fabric.model.task import Task, TaskInputs
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import BeforeInputs
from fabric.model.walks import with_dependents

_KEPT = 16

Recall = Callable[[TaskId], Sequence[Trace]]
Owners = Mapping[str, tuple[int, ...]]


class RunRecord(Struct, frozen=True):
    """A task of a finished run in plain values. Its traces, newest first, are still encoded
    rows."""

    id: str
    level: int
    needs: tuple[int, ...]
    dependents: tuple[int, ...]
    kind: str
    values: tuple[Any, ...]
    traces: list[Any]


class LastRun(Struct, frozen=True):
    """A finished run: `count` tasks, and groups of paths with the tasks that read or show them.

    `records` and `owners` override the file of pieces. A path without owners is no longer watched.
    """

    salt: bytes
    info: ProjectInfo
    count: int
    pieces: Pieces
    stats: bytes
    records: Mapping[int, bytes]
    owners: Owners
    # Unpacked records.
    seen: dict[int, RunRecord] = field(default_factory=dict)

    def record(self, number: int) -> RunRecord:
        found = self.seen.get(number)
        if found is None:
            found = self.seen[number] = RunRecord(*marshal.loads(self.read_packed(number)))  # noqa: S302: checked
        return found

    def read_packed(self, number: int) -> bytes:
        return self.records.get(number) or self.pieces.read(number)

    def owners_of(self, path: str) -> tuple[int, ...]:
        """The tasks that read or show a path."""
        changed = self.owners.get(path)
        if changed is not None:
            return changed
        return self.group(group_of(path, len(self.pieces) - self.count)).get(path, ())

    def group(self, number: int) -> Owners:
        found: Owners = marshal.loads(self.pieces.read(self.count + number))  # noqa: S302: checked
        return found

    def dirty(self, moved: Iterable[str]) -> set[int] | None:
        """Return the tasks that read or show these paths; None if a path is not owned by tasks
        only, or if a step has to run: any build can read its outputs."""
        found: set[int] = set()
        for path in moved:
            owners = self.owners_of(path)
            if not owners:
                return None
            found.update(owners)
        wave = with_dependents(found, lambda number: self.record(number).dependents)
        is_step = any(self.record(number).kind == BeforeInputs.kind for number in wave)
        return None if is_step else found

    def only_of(self, wave: set[int], prefix: str, kinds: Kinds) -> frozenset[str]:
        """Return the paths that only these tasks read or show."""
        rows = ((number, self.task(number, kinds).inputs, self.trace(number)) for number in wave)
        paths = map_path_owners(rows, prefix)
        return frozenset(path for path in paths if wave.issuperset(self.owners_of(path)))

    def task(self, number: int, kinds: Kinds) -> Task:
        found = self.record(number)
        needs = tuple(TaskId(self.record(need).id) for need in found.needs)
        return Task(TaskId(found.id), kinds[found.kind](*found.values), needs)

    def trace(self, number: int) -> Trace:
        """Return the newest trace, which is the valid one."""
        found = decode_traces(self.record(number).traces[:1])
        if not found:
            raise self.pieces.damage()
        return found[0]

    def outcome(self, number: int) -> Outcome:
        """A task that no edit reached, as a decision would have found it."""
        trace = self.trace(number)
        return Outcome(Status.SKIPPED, UP_TO_DATE, trace.output, trace=trace)


class Reached(Struct, frozen=True):
    """The part of a graph that an edit can affect."""

    graph: TaskGraph
    # Those of the whole graph.
    numbers: tuple[int, ...]
    known: Mapping[int, Outcome]

    @property
    def ran(self) -> tuple[int, ...]:
        """Return its tasks that must be decided again."""
        return tuple(one for place, one in enumerate(self.numbers) if place not in self.known)


def find_reached_tasks(last: LastRun, dirty: set[int], kinds: Kinds) -> Reached:
    """Find the dirty tasks, their dependents, and the needs of these as known outcomes."""
    wave = with_dependents(dirty, lambda number: last.record(number).dependents)
    numbers = tuple(sorted(wave.union(*(last.record(number).needs for number in wave))))
    place = {number: position for position, number in enumerate(numbers)}
    graph = TaskGraph(
        tasks=tuple(last.task(number, kinds) for number in numbers),
        ids=tuple(TaskId(last.record(number).id) for number in numbers),
        needs=tuple(
            tuple(place[need] for need in last.record(number).needs) if number in wave else ()
            for number in numbers
        ),
        level_of=tuple(last.record(number).level for number in numbers),
    )
    known = {place[number]: last.outcome(number) for number in numbers if number not in wave}
    return Reached(graph, numbers, known)


def complete_result(last: LastRun, part: Reached, result: RunResult, kinds: Kinds) -> RunResult:
    """Extend a partial result to all tasks. The others are unpacked on demand."""
    place = {number: position for position, number in enumerate(part.numbers)}

    def unpack_task(number: int) -> Task:
        return part.graph.tasks[place[number]] if number in place else last.task(number, kinds)

    def unpack_outcome(number: int) -> Outcome:
        return result.outcomes[place[number]] if number in place else last.outcome(number)

    count = last.count
    graph = TaskGraph(
        LazySequence(count, unpack_task),
        LazySequence(count, lambda number: TaskId(last.record(number).id)),
        LazySequence(count, lambda number: last.record(number).needs),
        LazySequence(count, lambda number: last.record(number).level),
    )
    return replace(
        result, graph=graph, outcomes=LazySequence(count, unpack_outcome), looked_at=part.numbers
    )


def with_outcomes(outcomes: Sequence[Outcome], others: Mapping[int, Outcome]) -> Sequence[Outcome]:
    """Replace a few outcomes without unpacking the others."""

    def get_outcome(number: int) -> Outcome:
        return others[number] if number in others else outcomes[number]

    return LazySequence(len(outcomes), get_outcome)


class FinishedRun(Struct, frozen=True):
    """A run to store completely, with packed tasks."""

    salt: bytes
    info: ProjectInfo
    records: tuple[bytes, ...]
    owners: Owners


def group_of(path: str, count: int) -> int:
    return crc32(path.encode("utf-8", "surrogatepass")) % count


def pack_record(record: RunRecord) -> bytes:
    return marshal.dumps(astuple(record))


def map_path_owners(
    rows: Iterable[tuple[int, TaskInputs, Trace]], prefix: str
) -> dict[str, tuple[int, ...]]:
    """Map each path, as stage 0 names it, to the tasks that read or show it."""
    owners: dict[str, list[int]] = {}
    for number, inputs, trace in rows:
        shown = [*list_visible_files(inputs, trace.output)]
        shown += [inputs.shown_in] if inputs.owns_folder else []
        for path in (*trace.all_files, *shown):
            owners.setdefault(path if path.startswith("/") else prefix + path, []).append(number)
    return {path: tuple(numbers) for path, numbers in owners.items()}


def pack_finished_run(
    salt: bytes, info: ProjectInfo, result: RunResult, traces: Recall, prefix: str
) -> FinishedRun:
    """A finished run, packed whole."""
    graph = result.graph
    rows = [
        (number, task.inputs, one.trace)
        for number, (task, one) in enumerate(zip(graph.tasks, result.outcomes, strict=True))
        if one.trace is not None
    ]
    dependents = graph.dependents
    records = (
        RunRecord(
            id=str(task.id),
            level=graph.level_of[number],
            needs=graph.needs[number],
            dependents=dependents[number],
            kind=task.kind,
            values=pack_inputs(task),
            traces=_merge_traces(trace, map(encode_trace, traces(task.id))),
        )
        for task, (number, _, trace) in zip(graph.tasks, rows, strict=True)
    )
    return FinishedRun(salt, info, tuple(map(pack_record, records)), map_path_owners(rows, prefix))


def update_packed_run(
    last: LastRun, salt: bytes, part: Reached, result: RunResult, prefix: str
) -> LastRun:
    """Update the packed run with the tasks of a part. `result` covers all tasks."""
    records = dict(last.records)
    owners = dict(last.owners)
    for number in part.ran:
        trace = result.outcomes[number].trace
        if trace is None:
            continue
        task, old = result.graph.tasks[number], last.record(number)
        before = set(map_path_owners([(number, task.inputs, last.trace(number))], prefix))
        after = set(map_path_owners([(number, task.inputs, trace)], prefix))
        records[number] = pack_record(replace(old, traces=_merge_traces(trace, old.traces)))
        # A path may have thousands of owners: only what this task stopped or began to look at.
        for path in before ^ after:
            now = set(owners[path] if path in owners else last.owners_of(path))
            owners[path] = tuple(sorted(now | {number} if path in after else now - {number}))
    return replace(last, salt=salt, records=records, owners=owners)


def _merge_traces(trace: Trace, older: Iterable[Any]) -> list[Any]:
    """Put the valid trace before the others, because `outcome` shows the first."""
    return [encode_trace(trace), *(one for one in older if one["key"] != trace.key)][:_KEPT]
