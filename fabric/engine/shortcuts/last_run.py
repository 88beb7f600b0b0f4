"""What the last run left behind, packed so that the next one reads only what an edit reaches.

Lies beside a stored answer and belongs to it alone: both carry the same salt. Deletable: without
it a run looks at everything, and comes to the same result.
"""

import marshal
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from fabric import manifest
from fabric.engine.memory.trace_rows import decode_traces, encode_trace
from fabric.engine.output_folders import shown_files
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.shortcuts.made_when_read import MadeWhenRead
from fabric.graph.decide import UP_TO_DATE
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.traces import Trace
from fabric.model.hashing import sealed, unsealed
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.task import Task, TaskInputs
from fabric.model.task_id import TaskId
from fabric.model.walks import with_dependents
from fabric.system.disk import read_bytes, write_atomic

_SUFFIX = ".warm"
_FIELDS = 8

_KEPT = 16

Recall = Callable[[TaskId], Sequence[Trace]]
Kinds = Mapping[str, type[TaskInputs]]


class LastRun(Struct, frozen=True):
    """A finished run: its graph as numbers, its tasks and traces still packed."""

    salt: bytes
    info: ProjectInfo
    ids: tuple[str, ...]
    levels: tuple[int, ...]
    needs: tuple[tuple[int, ...], ...]
    records: tuple[bytes, ...]
    owners: Mapping[str, tuple[int, ...]]

    def dirty(self, moved: Iterable[str]) -> set[int] | None:
        """The tasks that read or show these paths; None if one is not theirs alone."""
        found: set[int] = set()
        for path in moved:
            owners = self.owners.get(path)
            if owners is None:
                return None
            found.update(owners)
        return found

    def only_of(self, wave: set[int], prefix: str, kinds: Kinds) -> frozenset[str]:
        """The paths that nobody but these tasks reads or shows."""
        rows = (
            (number, self.task(number, kinds).inputs, self.traces(number)[0]) for number in wave
        )
        paths = owners_of(rows, prefix)
        return frozenset(path for path in paths if wave.issuperset(self.owners[path]))

    def task(self, number: int, kinds: Kinds) -> Task:
        kind, values, _ = marshal.loads(self.records[number])  # noqa: S302: see unpacked
        needs = tuple(TaskId(self.ids[need]) for need in self.needs[number])
        return Task(TaskId(self.ids[number]), kinds[kind](*values), needs)

    def traces(self, number: int) -> tuple[Trace, ...]:
        return decode_traces(marshal.loads(self.records[number])[2])  # noqa: S302

    def outcome(self, number: int) -> Outcome:
        """A task that no edit reached, as a decision would have found it."""
        trace = self.traces(number)[0]
        return Outcome(Status.SKIPPED, UP_TO_DATE, trace.output, trace=trace)


class Reached(Struct, frozen=True):
    """The part of a graph that an edit may reach: `numbers` are those of the whole graph."""

    graph: TaskGraph
    numbers: tuple[int, ...]
    known: Mapping[int, Outcome]

    @property
    def ran(self) -> tuple[int, ...]:
        """The tasks of it that are to be looked at again."""
        return tuple(one for place, one in enumerate(self.numbers) if place not in self.known)


def reached(last: LastRun, dirty: set[int], kinds: Kinds) -> Reached:
    """The dirty tasks, all that need them, and what these need (as known outcomes)."""
    wave = with_dependents(dirty, last.needs)
    numbers = tuple(sorted(wave.union(*(last.needs[number] for number in wave))))
    place = {number: position for position, number in enumerate(numbers)}
    graph = TaskGraph(
        tasks=tuple(last.task(number, kinds) for number in numbers),
        ids=tuple(TaskId(last.ids[number]) for number in numbers),
        needs=tuple(
            tuple(place[need] for need in last.needs[number]) if number in wave else ()
            for number in numbers
        ),
        level_of=tuple(last.levels[number] for number in numbers),
    )
    known = {place[number]: last.outcome(number) for number in numbers if number not in wave}
    return Reached(graph, numbers, known)


def whole(last: LastRun, part: Reached, result: RunResult, kinds: Kinds) -> RunResult:
    """The result of a part as one of all tasks: the others are unpacked where they are read."""
    place = {number: position for position, number in enumerate(part.numbers)}

    def task(number: int) -> Task:
        return part.graph.tasks[place[number]] if number in place else last.task(number, kinds)

    def outcome(number: int) -> Outcome:
        return result.outcomes[place[number]] if number in place else last.outcome(number)

    count = len(last.ids)
    ids = tuple(map(TaskId, last.ids))
    graph = TaskGraph(MadeWhenRead(count, task), ids, last.needs, last.levels)
    return replace(
        result, graph=graph, outcomes=MadeWhenRead(count, outcome), looked_at=part.numbers
    )


def with_outcomes(outcomes: Sequence[Outcome], others: Mapping[int, Outcome]) -> Sequence[Outcome]:
    """The same outcomes but for a few; none is unpacked for it."""

    def outcome(number: int) -> Outcome:
        return others[number] if number in others else outcomes[number]

    return MadeWhenRead(len(outcomes), outcome)


def load_last_run(folder: str, argv: Sequence[str], cwd: str, salt: bytes) -> LastRun | None:
    """What belongs to a stored answer, or None."""
    try:
        name = f"{manifest.file_name(argv, cwd)}{_SUFFIX}"
        content = unsealed(name, read_bytes(f"{folder}/{name}"))
        found = marshal.loads(content) if content else None  # noqa: S302: sealed by us
    except (OSError, ValueError, EOFError, TypeError):
        return None
    if not isinstance(found, tuple) or len(found) != _FIELDS or found[0] != manifest.FORMAT:
        return None
    _, own, info, ids, levels, needs, records, owners = found
    return LastRun(own, info_of(info), ids, levels, needs, records, owners) if own == salt else None


def save_last_run(folder: str, argv: Sequence[str], cwd: str, last: LastRun) -> None:
    info = packed_info(last.info)
    packed: Any = (
        manifest.FORMAT, last.salt, info, last.ids, last.levels, last.needs,
        last.records, dict(last.owners),
    )  # fmt: skip
    name = f"{manifest.file_name(argv, cwd)}{_SUFFIX}"
    try:
        write_atomic(f"{folder}/{name}", sealed(name, marshal.dumps(packed)), mode=0o600)
    except FabricError:
        return


def record_of(task: Task, traces: Sequence[Trace]) -> bytes:
    return marshal.dumps((task.kind, plain_inputs(task), [encode_trace(one) for one in traces]))


def plain_inputs(task: Task) -> tuple[Any, ...]:
    """The fields of a task's inputs as marshal takes them; tuples stay tuples, for keys' sake."""
    names = task.inputs.__struct_fields__
    return tuple(_plain(getattr(task.inputs, name)) for name in names)


def owners_of(
    rows: Iterable[tuple[int, TaskInputs, Trace]], prefix: str
) -> dict[str, tuple[int, ...]]:
    """For each path, as stage 0 names it, the tasks that read it or show it."""
    owners: dict[str, list[int]] = {}
    for number, inputs, trace in rows:
        shown = [*shown_files(inputs, trace.output)]
        shown += [inputs.shown_in] if inputs.owns_folder else []
        for path in (*(path for path, _ in trace.files), *shown):
            owners.setdefault(path if path.startswith("/") else prefix + path, []).append(number)
    return {path: tuple(numbers) for path, numbers in owners.items()}


def last_run_of(
    salt: bytes, info: ProjectInfo, result: RunResult, traces: Recall, prefix: str
) -> LastRun:
    """A finished run, packed whole."""
    graph = result.graph
    rows = [
        (number, task.inputs, one.trace)
        for number, (task, one) in enumerate(zip(graph.tasks, result.outcomes, strict=True))
        if one.trace is not None
    ]
    return LastRun(
        salt,
        info,
        tuple(graph.ids),
        graph.level_of,
        graph.needs,
        tuple(
            record_of(task, newest_first(trace, traces(task.id)))
            for task, (_, _, trace) in zip(graph.tasks, rows, strict=True)
        ),
        owners_of(rows, prefix),
    )


def renewed_run(
    last: LastRun, salt: bytes, part: Reached, result: RunResult, prefix: str
) -> LastRun:
    """The packed run with the tasks of a part replaced; `result` is one of all tasks."""
    records = list(last.records)
    owners = dict(last.owners)
    for number in part.ran:
        trace = result.outcomes[number].trace
        if trace is None:
            continue
        task, old = result.graph.tasks[number], last.traces(number)
        records[number] = record_of(task, newest_first(trace, old))
        before = set(owners_of([(number, task.inputs, old[0])], prefix))
        after = set(owners_of([(number, task.inputs, trace)], prefix))
        # A path may have thousands of owners: only what this task stopped or began to look at.
        _disown(owners, number, before - after)
        _own(owners, number, after - before)
    return replace(last, salt=salt, records=tuple(records), owners=owners)


def _disown(owners: dict[str, tuple[int, ...]], number: int, paths: Iterable[str]) -> None:
    for path in paths:
        left = tuple(one for one in owners[path] if one != number)
        if left:
            owners[path] = left
        else:
            del owners[path]


def _own(owners: dict[str, tuple[int, ...]], number: int, paths: Iterable[str]) -> None:
    for path in paths:
        owners[path] = tuple(sorted({*owners.get(path, ()), number}))


def newest_first(trace: Trace, older: Sequence[Trace]) -> list[Trace]:
    """The trace that holds now, then the others; the first is what `outcome` shows."""
    return [trace, *(one for one in older if one.key != trace.key)][:_KEPT]


def _plain(value: Any) -> Any:
    """A value as marshal takes it: words of an enum as text, tuples still tuples."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return str(value) if isinstance(value, str) else value


def packed_info(info: ProjectInfo) -> tuple[Any, ...]:
    return info.workspace, info.stage, tuple(map(_packed_problem, info.warnings))


def _packed_problem(one: Problem) -> tuple[Any, ...]:
    where = astuple(one.where) if one.where else None
    return one.code, one.message, one.hint, where, one.frame


def info_of(found: Any) -> ProjectInfo:
    workspace, stage, warnings = found
    return ProjectInfo(workspace, stage, tuple(_problem(*one) for one in warnings))


def _problem(code: str, message: str, hint: str, where: Any, frame: str) -> Problem:
    return Problem(code, message, hint, Place(*where) if where else None, frame)
