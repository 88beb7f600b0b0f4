"""Tasks become a graph only if every need is there and none goes in a circle."""

import pytest

from fabric.graph.build_graph import build_graph
from fabric.model.problems import FabricError, Problem
from tests.support.plans import build


def refused(*tasks: tuple[str, ...]) -> tuple[Problem, ...]:
    with pytest.raises(FabricError) as caught:
        build_graph(build(*one) for one in tasks)
    return caught.value.problems


def test_dependencies_come_before_dependents() -> None:
    graph = build_graph(build(*one) for one in (("c", "a", "b"), ("b", "a"), ("a",), ("d",)))
    assert graph.levels == (("a", "d"), ("b",), ("c",))
    assert graph.needs == ((), (), (0,), (0, 2))
    assert graph.dependents == ((2, 3), (), (3,), ())


def test_a_task_may_be_named_twice_if_it_is_the_same() -> None:
    assert len(build_graph([build("a"), build("a")])) == 1
    (problem,) = refused(("a",), ("b",), ("a", "b"))
    assert (problem.code, "`a`" in problem.message) == ("config/duplicate-task", True)


def test_all_missing_dependencies_are_reported_at_once() -> None:
    found = refused(("a", "x"), ("b", "y", "x"))
    assert [one.code for one in found] == ["config/unknown-task"] * 2
    assert ["`x`" in found[0].message, "`y`" in found[1].message] == [True, True]


def test_cycle_is_reported_once() -> None:
    (problem,) = refused(("a", "c"), ("b", "a"), ("c", "b"), ("d",))
    assert problem.code == "config/cycle"
    circle = problem.message.partition(": ")[2].split(" → ")
    assert (circle[0], len(circle), set(circle)) == (circle[-1], 4, {"a", "b", "c"})
