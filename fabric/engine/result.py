"""How a run ended, task by task."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from fabric.graph.decide import Decision
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.traces import Trace
from fabric.model.problems import ExitCode, Problem, exit_code_of
from fabric.model.task import Output, Task
from fabric.model.task_id import name_of
from fabric.model.task_inputs import RECORD_KINDS


class Status(StrEnum):
    RAN = "ran"
    SKIPPED = "skipped"
    FAILED = "failed"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


GOOD = frozenset({Status.RAN, Status.SKIPPED})


class Outcome(Struct, frozen=True):
    status: Status
    reason: str = ""
    output: Output | None = None
    decision: Decision | None = None
    ms: int = 0
    started: float = 0.0
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    trace: Trace | None = None


class RunResult(Struct, frozen=True):
    """How all tasks of a graph ended."""

    graph: TaskGraph
    outcomes: Sequence[Outcome]
    ms: int
    interrupted: bool = False
    # Problems after the last task.
    aftermath: tuple[Problem, ...] = ()
    # The tasks that this run decided on, None for all: the others were unchanged.
    looked_at: tuple[int, ...] | None = None

    @property
    def rows(self) -> Iterator[tuple[Task, Outcome]]:
        """The tasks that this run decided on, with how they ended."""
        if self.looked_at is None:
            return zip(self.graph.tasks, self.outcomes, strict=True)
        return ((self.graph.tasks[one], self.outcomes[one]) for one in self.looked_at)

    @property
    def untouched(self) -> int:
        return 0 if self.looked_at is None else len(self.graph) - len(self.looked_at)

    def count(self, status: Status) -> int:
        found = sum(outcome.status is status for _, outcome in self.rows)
        return found + self.untouched if status is Status.SKIPPED else found

    @property
    def ok(self) -> bool:
        return not (self.interrupted or self.aftermath) and all(
            outcome.status in GOOD for _, outcome in self.rows
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        of_tasks = (problem for _, outcome in self.rows for problem in outcome.problems)
        return (*of_tasks, *self.aftermath)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return the output warnings of this run without duplicates. They were already reported."""
        found = (one for _, outcome in self.rows for one in outcome.warnings)
        return tuple(dict.fromkeys(found))

    @property
    def exit_code(self) -> ExitCode:
        """Return 0, 130, or the failure's code; 2 if another service or function succeeded."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if self.ok:
            return ExitCode.OK
        if self.aftermath:
            return exit_code_of(self.aftermath[0])
        first = exit_code_of(self.problems[0]) if self.problems else ExitCode.FAILED
        if first is not ExitCode.FAILED:
            return first
        return ExitCode.PARTIAL if self._has_finished_unit() else ExitCode.FAILED

    def _has_finished_unit(self) -> bool:
        """Return whether a unit succeeded. In deploys, builds alone do not count."""
        rows = list(zip(self.graph.tasks, self.outcomes, strict=True))
        changing = [row for row in rows if row[0].kind in RECORD_KINDS]
        # Packages that many functions share are for nobody by themselves.
        rows = [row for row in rows if row[0].inputs.function]
        bad = set()
        units = set()
        for task, outcome in changing or rows:
            name = name_of(task.id)
            unit = (name.service, name.function, name.provider, bool(changing) and task.kind)
            units.add(unit)
            if outcome.status not in GOOD:
                bad.add(unit)
        return bool(units - bad)


def find_critical_path(result: RunResult) -> tuple[int, ...]:
    """Find the critical path: from the last task back through the dependency that ended last."""
    if not result.outcomes:
        return ()
    ends = [one.started + one.ms / 1000 for one in result.outcomes]
    number = max(range(len(ends)), key=ends.__getitem__)
    path = [number]
    while needs := result.graph.needs[number]:
        number = max(needs, key=ends.__getitem__)
        path.append(number)
    return tuple(reversed(path))
