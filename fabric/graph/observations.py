"""A graph of observation queries. They are independent, so it has one level."""

from collections.abc import Iterable

from fabric.graph.taskgraph import TaskGraph
from fabric.model.observe_inputs import OBSERVE_INPUTS
from fabric.model.records.record import RecordRef
from fabric.model.task import Task
from fabric.model.task_id import TaskId, build_task_id


def build_observation_id(kind: str, ref: RecordRef) -> TaskId:
    return build_task_id(kind, ref.service, provider=ref.provider)


def build_observation_graph(kind: str, refs: Iterable[RecordRef]) -> TaskGraph:
    """`kind` is one of logs, metrics and traces."""
    inputs = OBSERVE_INPUTS[kind]
    by_id = {
        build_observation_id(kind, ref): Task(
            build_observation_id(kind, ref), inputs(ref.service, ref.provider, ref.stage)
        )
        for ref in refs
    }
    # Put together here: what levels graphs in general costs a third of a start to import.
    ids = tuple(sorted(by_id))
    return TaskGraph(
        tasks=tuple(by_id[one] for one in ids),
        ids=ids,
        needs=((),) * len(ids),
        level_of=(0,) * len(ids),
    )
