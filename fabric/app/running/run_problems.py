"""The problems of a run and their services, as values for a report."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.engine.result import RunResult, Status, find_critical_path
from fabric.graph.decide import UP_TO_DATE
from fabric.graph.taskgraph import TaskGraph
from fabric.model.problems import Problem
from fabric.model.report import Case
from fabric.model.text.amounts import format_count, format_duration

_NAMED = 5


class _Owned(Struct, frozen=True):
    owner: str
    problem: Problem


def list_run_problems(result: RunResult) -> tuple[Problem, ...]:
    """List the problems of a run. An interruption comes first."""
    found = (*(one.problem for one in _list_task_problems(result)), *result.aftermath)
    if not result.interrupted:
        return found
    left = result.count(Status.CANCELLED)
    message = f"interrupted: {format_count(left, 'task')} not started"
    return (Problem("run/interrupted", message, hint="run the command again to continue"), *found)


def list_problem_owners(result: RunResult) -> tuple[str, ...]:
    """List the service of each problem; empty for problems of the whole run."""
    owners = [one.owner for one in _list_task_problems(result)]
    return (*("",) * result.interrupted, *owners, *("" for _ in result.aftermath))


def _list_task_problems(result: RunResult) -> Iterator[_Owned]:
    """List each problem once per service, with the affected functions."""
    functions: dict[_Owned, dict[str, None]] = {}
    for task, outcome in result.rows:
        owner = "" if outcome.status is Status.BLOCKED else task.inputs.service
        for problem in outcome.problems:
            names = functions.setdefault(_Owned(owner, problem), {})
            names.update({task.inputs.function: None} if task.inputs.function else {})
    for one, names in functions.items():
        yield _Owned(one.owner, with_functions(one.problem, list(names)))


def with_functions(problem: Problem, names: Sequence[str]) -> Problem:
    """The problem with the names of the functions that share it."""
    if len(names) < 2:  # noqa: PLR2004 - one function is named by the place, or by the task
        return problem
    shown = ", ".join(f"`{name}`" for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return replace(problem, message=f"{problem.message} (functions {shown}{more})")


NOTHING_RAN = "critical path: none (no task ran)"


def list_test_cases(result: RunResult) -> tuple[Case, ...]:
    """List every task with its outcome. Later failures are separate cases."""
    rows = zip(result.graph.tasks, result.outcomes, strict=True)
    cases = [
        Case(
            service=task.inputs.service,
            task=task.id,
            status=str(one.status),
            reason=one.reason,
            ms=one.ms,
            problems=one.problems,
        )
        for task, one in rows
    ]
    if result.aftermath:
        cases.append(Case("", "the end of the run", "failed", problems=result.aftermath))
    return tuple(cases)


def format_critical_path(result: RunResult) -> str:
    """Format the critical path of the run."""
    if not result.count(Status.RAN):
        return NOTHING_RAN
    path = find_critical_path(result)
    words = (f"{result.graph.ids[one]} {format_duration(result.outcomes[one].ms)}" for one in path)
    return f"critical path of {format_duration(result.ms)}: {' -> '.join(words)}"


def list_skipped_cases(graph: TaskGraph) -> tuple[Case, ...]:
    """The tasks of a run that had nothing to do."""
    return tuple(Case(task.inputs.service, task.id, "skipped", UP_TO_DATE) for task in graph.tasks)
