"""The chain of tasks that a run had to wait for."""

from fabric.engine.result import Outcome, RunResult, Status, find_critical_path
from fabric.graph.build_graph import build_graph
from tests.support.plans import build


def test_critical_path_follows_the_dependency_that_ended_last() -> None:
    graph = build_graph([build("a"), build("b"), build("c", "a", "b"), build("d")])
    took = {"a": 1000, "b": 3000, "c": 500, "d": 2000}
    started = {"a": 0.0, "b": 0.0, "c": 3.0, "d": 0.0}
    outcomes = tuple(Outcome(Status.RAN, started=started[one], ms=took[one]) for one in graph.ids)
    path = find_critical_path(RunResult(graph, outcomes, 3500))
    assert [graph.ids[number] for number in path] == ["b", "c"]


def test_empty_run_has_no_critical_path() -> None:
    assert find_critical_path(RunResult(build_graph([]), (), 0)) == ()
