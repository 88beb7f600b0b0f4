"""A run divided among machines: each result is made by one of them, with all that it needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.graph.build_graph import build_graph
from fabric.graph.shards import divide_tasks, parse_shard
from fabric.graph.taskgraph import TaskGraph
from fabric.model.problems import FabricError
from fabric.model.runs.shard import Shard
from fabric.model.task import Task
from fabric.model.task_id import build_task_id
from fabric.model.task_inputs import PackageInputs

Divided = tuple[TaskGraph, tuple[float, ...], int]


@st.composite
def divided(draw: st.DrawFn) -> Divided:
    """Functions that share some of what they are made from."""
    shared = draw(st.integers(1, 4))
    tasks = [
        Task(build_task_id("build", f"lib{n}"), PackageInputs("", "", "")) for n in range(shared)
    ]
    for number in range(draw(st.integers(0, 25))):
        needs = draw(st.sets(st.integers(0, shared - 1), max_size=3))
        inputs = PackageInputs("shop", f"f{number}", "")
        ids = tuple(tasks[one].id for one in sorted(needs))
        tasks.append(Task(build_task_id("package", "shop", f"f{number}"), inputs, ids))
    graph = build_graph(tasks)
    seconds = draw(st.lists(st.floats(0, 100), min_size=len(graph), max_size=len(graph)))
    return graph, tuple(seconds), draw(st.integers(1, 6))


def results(graph: TaskGraph) -> set[str]:
    needed = {need for of_task in graph.needs for need in of_task}
    return {one for number, one in enumerate(graph.ids) if number not in needed}


@given(divided())
def test_each_result_is_made_by_just_one_machine_with_all_that_it_needs(given_: Divided) -> None:
    graph, seconds, count = given_
    parts = [divide_tasks(graph, seconds, Shard(n, count)) for n in range(1, count + 1)]
    wanted = results(graph)
    made = [sorted(set(part.graph.ids) & wanted) for part in parts]
    assert sorted(one for part in made for one in part) == sorted(wanted)
    assert [len(part) for part in made] == list(parts[0].counts)
    needs = {
        one: {graph.ids[need] for need in of_task}
        for one, of_task in zip(graph.ids, graph.needs, strict=True)
    }
    for part in parts:
        for one, of_task in zip(part.graph.ids, part.graph.needs, strict=True):
            assert {part.graph.ids[need] for need in of_task} == needs[one]


def test_tasks_are_divided_evenly_by_duration() -> None:
    tasks = [
        Task(build_task_id("package", "shop", f"f{n}"), PackageInputs("shop", f"f{n}", ""))
        for n in range(6)
    ]
    graph = build_graph(tasks)
    seconds = tuple(float(one.rpartition("f")[2]) + 1 for one in graph.ids)
    assert sorted(divide_tasks(graph, seconds, Shard(1, 3)).seconds) == [7.0, 7.0, 7.0]


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/", "/2", "a/b", "1/0", "-1/2", "1/2/3"])
def test_invalid_shard_is_a_usage_error(text: str) -> None:
    with pytest.raises(FabricError) as raised:
        parse_shard(text)
    assert raised.value.first.code == "usage/bad-shard"


@pytest.mark.parametrize("text", ["1/1", "2/3", "999/999"])
def test_shard_is_its_number_and_their_count(text: str) -> None:
    found = parse_shard(text)
    assert f"{found.number}/{found.count}" == text
