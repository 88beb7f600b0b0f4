"""What went wrong in a run, and whose it is: as values for a report."""

from fabric.engine.result import RunResult, Status
from fabric.model.amounts import plural
from fabric.model.problems import Problem


def problems_of(result: RunResult) -> tuple[Problem, ...]:
    """What failed, and first of all that the run was interrupted, if it was."""
    if not result.interrupted:
        return result.problems
    left = result.count(Status.CANCELLED)
    message = f"interrupted: {plural(left, 'task')} not started"
    return (Problem("run/interrupted", message, hint="run it again to go on"), *result.problems)


def owners_of(result: RunResult) -> tuple[str, ...]:
    """The service of each of these problems; none for what concerns the run as a whole."""
    owners = [
        "" if outcome.status is Status.BLOCKED else task.inputs.service
        for task, outcome in result.rows
        for _ in outcome.problems
    ]
    return (*("",) * result.interrupted, *owners, *("" for _ in result.aftermath))
