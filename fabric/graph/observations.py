"""Looks at what runs as a graph: no service needs another, so it has one level."""

from collections.abc import Iterable

from fabric.graph.taskgraph import TaskGraph
from fabric.model.observe_inputs import OBSERVE_INPUTS
from fabric.model.records.record import RecordRef
from fabric.model.task import Task
from fabric.model.task_id import TaskId, task_id


def observation_id(kind: str, ref: RecordRef) -> TaskId:
    return task_id(kind, ref.service, provider=ref.provider)


def observation_graph(kind: str, refs: Iterable[RecordRef]) -> TaskGraph:
    """`kind` is one of logs, metrics and traces."""
    from fabric.graph.build_graph import (
        build_graph,  # networkx: imported when something is compiled
    )

    inputs = OBSERVE_INPUTS[kind]
    return build_graph(
        Task(observation_id(kind, ref), inputs(ref.service, ref.provider, ref.stage))
        for ref in refs
    )
