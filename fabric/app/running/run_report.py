"""A run task by task, as values for test reports."""

from fabric.engine.critical_tasks import find_critical_path
from fabric.engine.result import RunResult, Status
from fabric.graph.decide import UP_TO_DATE
from fabric.graph.taskgraph import TaskGraph
from fabric.model.amounts import format_duration
from fabric.model.report import Case

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
