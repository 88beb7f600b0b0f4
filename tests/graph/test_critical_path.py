"""The critical path: which tasks it leads through, and what is said of it."""

import json
from collections.abc import Mapping
from itertools import pairwise
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.graph.critical_path import (
    CriticalPath,
    compute_critical_path,
    compute_tails,
    find_longest_path,
)
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.views.pictures.draw import draw
from fabric.views.pictures.drawing import build_drawing
from fabric.views.pictures.text import format_path_summary
from tests.support.plans import build, plan_of, shop


def timed(plan: Plan, took: Mapping[str, int]) -> Plan:
    """The plan with what some tasks took last time, in milliseconds."""
    rows = zip(plan.graph.ids, plan.decisions, strict=True)
    return Plan(plan.graph, tuple(replace(one, took=took.get(name)) for name, one in rows))


def names(plan: Plan) -> list[str]:
    return [plan.graph.ids[number] for number in compute_critical_path(plan).numbers]


def fork() -> Plan:
    """`b` and `c` both need `a`; only `c` has a task behind it."""
    return plan_of([build("a"), build("b", "a"), build("c", "a"), build("d", "c")])


def words(plan: Plan) -> str:
    return format_path_summary(build_drawing(plan))


def test_tails_are_longest_paths() -> None:
    assert compute_tails([[], [0], [0], [1, 2]], [1.0, 5.0, 2.0, 1.0]) == [7.0, 6.0, 3.0, 1.0]


def test_without_times_the_longest_chain_has_the_most_tasks() -> None:
    assert names(fork()) == ["a", "c", "d"]


def test_last_duration_of_a_task_is_its_weight() -> None:
    plan = timed(fork(), {"a": 10, "b": 9000, "c": 100, "d": 100})
    assert names(plan) == ["a", "b"]
    assert compute_critical_path(plan) == CriticalPath((0, 1), timed=2, ms=9010)


def test_a_task_that_was_never_timed_weighs_a_second() -> None:
    assert names(timed(fork(), {"b": 2500})) == ["a", "b"]
    assert names(timed(fork(), {"b": 1500})) == ["a", "c", "d"]


def test_critical_path_contains_only_tasks_to_run() -> None:
    tasks = [build("a"), build("b", "a"), build("c", "b"), build("x"), build("y", "x")]
    up_to_date = dict.fromkeys("abc", Action.SKIP)
    assert names(plan_of(tasks, {**up_to_date, "y": Action.WAIT})) == ["x", "y"]


def test_when_nothing_is_to_run_all_tasks_count() -> None:
    plan = plan_of(fork().graph.tasks, dict.fromkeys("abcd", Action.SKIP))
    assert names(plan) == ["a", "c", "d"]


def test_of_two_chains_as_long_the_first_is_taken() -> None:
    assert names(plan_of([build("a"), build("b"), build("c", "b"), build("d", "a")])) == ["a", "d"]


def test_a_plan_without_tasks_has_no_path() -> None:
    assert compute_critical_path(plan_of([])) == CriticalPath()
    assert words(plan_of([])) == ""


@pytest.mark.parametrize(
    ("took", "said"),
    [
        ({}, "Critical path: 3 tasks, orders"),
        ({"c": 700, "d": 800}, "Critical path: 3 tasks, 2 of them took 1.5 s last time, orders"),
        (
            {"a": 61_000, "c": 1000, "d": 1000},
            "Critical path: 3 tasks, 1 min 03 s last time, orders",
        ),
    ],
    ids=["never run", "in part", "all"],
)
def test_critical_path_message_reports_length_and_time(took: Mapping[str, int], said: str) -> None:
    assert words(timed(fork(), took)) == said


def test_of_many_services_on_the_path_the_first_and_the_last_are_named() -> None:
    tasks = [build("t0", service="s0")]
    tasks += [build(f"t{n}", f"t{n - 1}", service=f"s{n}") for n in range(1, 9)]
    assert words(plan_of(tasks)).endswith(", s0 → s1 → s2 → … → s8")


def test_the_svg_marks_the_path_and_json_names_it() -> None:
    plan = shop()
    root = ET.fromstring(draw("svg", plan))  # noqa: S314: our own text
    critical = [one for one in root.iter() if "critical" in (one.get("class") or "").split()]
    assert {one.get("data-id") for one in critical} - {None} == set(names(plan))
    edges = [(one.get("data-from"), one.get("data-to")) for one in critical if one.get("data-to")]
    assert sorted(edges) == sorted(pairwise(names(plan)))
    assert words(plan) in [one.text for one in root.iter()]
    assert json.loads(draw("json", plan))["criticalPath"] == names(plan)


@st.composite
def graphs(draw_from: st.DrawFn) -> tuple[list[list[int]], list[float]]:
    count = draw_from(st.integers(1, 12))
    needs = [
        sorted(draw_from(st.sets(st.integers(0, number - 1), max_size=3))) if number else []
        for number in range(count)
    ]
    return needs, [float(draw_from(st.integers(0, 9))) for _ in needs]


@given(graphs())
def test_no_chain_is_longer_than_the_path(graph: tuple[list[list[int]], list[float]]) -> None:
    needs, seconds = graph
    path = find_longest_path(needs, seconds, range(len(needs)))
    assert all(need in needs[number] for need, number in pairwise(path))
    dag: nx.DiGraph[int] = nx.DiGraph()
    dag.add_nodes_from(range(-1, len(needs)))
    # Weights stand on edges there: that of a task on all that lead into it, also from nowhere.
    for number, row in enumerate(needs):
        dag.add_weighted_edges_from((need, number, seconds[number]) for need in (*row, -1))
    assert sum(seconds[number] for number in path) == nx.dag_longest_path_length(dag)
