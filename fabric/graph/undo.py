"""Tasks that restore an earlier deployment, or delete everything of a record."""

from collections.abc import Sequence

from fabric.graph.compile import deploys_whole_services
from fabric.graph.taskgraph import TaskGraph
from fabric.model.records.record import Deployment, Record, RecordRef
from fabric.model.task import Task
from fabric.model.task_id import TaskId, task_id
from fabric.model.task_inputs import RemoveInputs, RestoreInputs


def way_back(record: Record, target: Deployment) -> list[Task]:
    """Plan the tasks from the deployed state to an earlier deployment. The last task is the
    service-wide release."""
    ref = record.ref
    then = {one.name: one for one in target.functions}
    moved = tuple(name for name, one in then.items() if record.function(name) != one)
    service = task_id("restore", ref.service, provider=ref.provider)
    if deploys_whole_services(record.provider_id, record.mode):
        return [Task(service, _restore(record, target, "", tuple(then)))]
    restores = [
        Task(_id("restore", ref, name), _restore(record, target, name, (name,))) for name in moved
    ]
    needs = tuple(task.id for task in restores)
    last = Task(service, _restore(record, target, "", ()), needs)
    removes = [
        Task(_id("remove", ref, one.name), _remove(record, one.name), (service,))
        for one in record.functions
        if one.name not in then
    ]
    return [*restores, last, *removes]


def way_out(record: Record, after: Sequence[TaskId] = ()) -> list[Task]:
    """Plan the deletion of a record. Providers of single functions get one task each."""
    ref = record.ref
    whole = deploys_whole_services(record.provider_id, record.mode)
    single = () if whole else tuple(one.name for one in record.functions)
    tasks = [Task(_id("remove", ref, name), _remove(record, name), tuple(after)) for name in single]
    needs = tuple(task.id for task in tasks) or tuple(after)
    last = Task(task_id("remove", ref.service, provider=ref.provider), _remove(record, ""), needs)
    return [*tasks, last]


def without_functions(record: Record, names: frozenset[str]) -> list[Task]:
    """Plan the deletion of single functions. The service and its other functions stay."""
    live = [one.name for one in record.functions if one.name in names]
    return [Task(_id("remove", record.ref, name), _remove(record, name)) for name in live]


def undoing(record: Record, target: Deployment | None) -> TaskGraph:
    """Build the graph of one service: restore an earlier deployment, or delete everything without
    one."""
    from fabric.graph.build_graph import (
        build_graph,  # networkx: imported when something is compiled
    )

    return build_graph(way_out(record) if target is None else way_back(record, target))


def restored_functions(graph: TaskGraph) -> frozenset[str]:
    """List the functions that a rollback deploys again. Others stay or are deleted."""
    restores = (one for one in graph.inputs_of("restore") if isinstance(one, RestoreInputs))
    return frozenset(name for inputs in restores for name in inputs.functions)


def _restore(
    record: Record, target: Deployment, function: str, functions: tuple[str, ...]
) -> RestoreInputs:
    ref = record.ref
    return RestoreInputs(
        ref.service, function, ref.provider, ref.stage, target.mode, target.deployment_id, functions
    )


def _remove(record: Record, function: str) -> RemoveInputs:
    ref = record.ref
    return RemoveInputs(ref.service, function, ref.provider, ref.stage, record.mode)


def _id(kind: str, ref: RecordRef, function: str) -> TaskId:
    return task_id(kind, ref.service, function, ref.provider)
