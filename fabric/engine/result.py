"""How a run ended, task by task."""

from enum import StrEnum

from msgspec import Struct

from fabric.graph.decide import Decision
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.traces import Trace
from fabric.model.problems import ExitCode, Problem, exit_code_of
from fabric.model.task import RECORD_KINDS, Output


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
    """`aftermath` is what went wrong once all tasks had ended, while the run was put away."""

    graph: TaskGraph
    outcomes: tuple[Outcome, ...]
    ms: int
    interrupted: bool = False
    aftermath: tuple[Problem, ...] = ()

    def count(self, status: Status) -> int:
        return sum(outcome.status is status for outcome in self.outcomes)

    @property
    def ok(self) -> bool:
        return not (self.interrupted or self.aftermath) and all(
            one.status in GOOD for one in self.outcomes
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        of_tasks = (problem for outcome in self.outcomes for problem in outcome.problems)
        return (*of_tasks, *self.aftermath)

    @property
    def exit_code(self) -> ExitCode:
        """0, 130, or what failed; 2 when another service or function was done all the same."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if self.ok:
            return ExitCode.OK
        if self.aftermath:
            return exit_code_of(self.aftermath[0])
        first = exit_code_of(self.problems[0]) if self.problems else ExitCode.FAILED
        if first is not ExitCode.FAILED:
            return first
        return ExitCode.PARTIAL if self._some_unit_done() else ExitCode.FAILED

    def _some_unit_done(self) -> bool:
        """Of a run that changes the world only that counts: what was built for it is no result."""
        rows = list(zip(self.graph.tasks, self.outcomes, strict=True))
        changing = [row for row in rows if row[0].kind in RECORD_KINDS]
        bad = set()
        units = set()
        for task, outcome in changing or rows:
            unit = (task.inputs.service, task.inputs.function, bool(changing) and task.kind)
            units.add(unit)
            if outcome.status not in GOOD:
                bad.add(unit)
        return bool(units - bad)
