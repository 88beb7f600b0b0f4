"""Tasks to a checked, levelled graph. The only door to networkx, which costs a start to import."""

from collections.abc import Iterable

import networkx as nx

from fabric.graph.taskgraph import TaskGraph
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Task
from fabric.model.task_id import TaskId


def build_graph(tasks: Iterable[Task]) -> TaskGraph:
    """Check that needs exist and never go in a circle, then put tasks into levels."""
    by_id = _index_by_id(tasks)
    dag: nx.DiGraph[TaskId] = nx.DiGraph()
    dag.add_nodes_from(by_id)
    dag.add_edges_from((need, task.id) for task in by_id.values() for need in task.needs)
    _refuse_unknown(dag, by_id)
    levels = _list_generations(dag)
    ids = tuple(task_id for level in levels for task_id in level)
    number = {task_id: position for position, task_id in enumerate(ids)}
    return TaskGraph(
        tasks=tuple(by_id[task_id] for task_id in ids),
        ids=ids,
        needs=tuple(tuple(number[need] for need in by_id[task_id].needs) for task_id in ids),
        level_of=tuple(depth for depth, level in enumerate(levels) for _ in level),
    )


def _index_by_id(tasks: Iterable[Task]) -> dict[TaskId, Task]:
    by_id: dict[TaskId, Task] = {}
    for task in tasks:
        if task.id in by_id and by_id[task.id] != task:
            raise FabricError(Problem("config/duplicate-task", f"duplicate task ID `{task.id}`"))
        by_id[task.id] = task
    return by_id


def _refuse_unknown(dag: "nx.DiGraph[TaskId]", by_id: dict[TaskId, Task]) -> None:
    unknown = sorted(set(dag) - set(by_id))
    if unknown:
        raise FabricError(
            *(Problem("config/unknown-task", f"unknown task ID `{name}`") for name in unknown)
        )


def _list_generations(dag: "nx.DiGraph[TaskId]") -> list[list[TaskId]]:
    try:
        return [sorted(level) for level in nx.topological_generations(dag)]
    except nx.NetworkXUnfeasible as error:
        raise FabricError(_find_cycle_problem(dag)) from error


def _find_cycle_problem(dag: "nx.DiGraph[TaskId]") -> Problem:
    edges = nx.find_cycle(dag)
    path = [edge[0] for edge in edges] + [edges[0][0]]
    return Problem(
        "config/cycle",
        "dependency cycle: " + " → ".join(path),
        hint="remove one of these dependencies",
    )
