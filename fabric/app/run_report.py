"""A run task by task, as values for test reports."""

from fabric.engine.result import RunResult
from fabric.graph.decide import UP_TO_DATE
from fabric.graph.taskgraph import TaskGraph
from fabric.model.report import Case


def cases_of(result: RunResult) -> tuple[Case, ...]:
    """Every task with its end; what went wrong after all of them is a case of its own."""
    rows = zip(result.graph.tasks, result.outcomes, strict=True)
    cases = [
        Case(task.inputs.service, task.id, str(one.status), one.reason, one.ms, one.problems)
        for task, one in rows
    ]
    if result.aftermath:
        cases.append(Case("", "the end of the run", "failed", problems=result.aftermath))
    return tuple(cases)


def untouched(graph: TaskGraph) -> tuple[Case, ...]:
    """The tasks of a run that had nothing to do."""
    return tuple(Case(task.inputs.service, task.id, "skipped", UP_TO_DATE) for task in graph.tasks)
