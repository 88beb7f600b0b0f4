"""The problems of a run and their services, as values for a report."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.engine.result import RunResult, Status
from fabric.model.amounts import format_count
from fabric.model.problems import Problem

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
