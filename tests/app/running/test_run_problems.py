"""Which problems a run reports: each once, with the functions that have it."""

from fabric.app.running.run_problems import list_problem_owners, list_run_problems
from fabric.engine.result import Outcome, RunResult, Status
from fabric.graph.build_graph import build_graph
from fabric.model.problems import Place, Problem
from fabric.model.task import Task
from fabric.model.task_id import build_task_id
from fabric.model.task_inputs import BuildInputs

SHARED = Problem("build/failed", "invalid syntax", where=Place("lib.ts", 1))


def result(*rows: tuple[str, str, Problem | None]) -> RunResult:
    """A run of builds: service, function and problem of each."""
    tasks = [
        Task(
            build_task_id("build", service, name),
            BuildInputs(service, name, service, "a.handler", "nodejs20.x"),
        )
        for service, name, _ in rows
    ]
    problems = {task.id: one for task, (*_, one) in zip(tasks, rows, strict=True)}
    graph = build_graph(tasks)
    outcomes = tuple(
        Outcome(Status.FAILED, problems=tuple(filter(None, (problems[one],)))) for one in graph.ids
    )
    return RunResult(graph, outcomes, 1)


def messages(*rows: tuple[str, str, Problem | None]) -> list[str]:
    return [one.message for one in list_run_problems(result(*rows))]


def test_a_problem_of_one_function_is_reported_as_it_is() -> None:
    assert list_run_problems(result(("shop", "a", SHARED))) == (SHARED,)


def test_a_problem_of_several_functions_is_reported_once_with_their_names() -> None:
    rows = (("shop", "a", SHARED), ("shop", "b", SHARED), ("shop", "c", None))
    assert messages(*rows) == ["invalid syntax (functions `a`, `b`)"]
    many = [("shop", f"f{number}", SHARED) for number in range(7)]
    assert messages(*many) == ["invalid syntax (functions `f0`, `f1`, `f2`, `f3`, `f4` and 2 more)"]


def test_each_service_reports_its_own_problems() -> None:
    found = result(("a", "one", SHARED), ("b", "one", SHARED))
    assert list_run_problems(found) == (SHARED, SHARED)
    assert list_problem_owners(found) == ("a", "b")
