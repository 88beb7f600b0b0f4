"""Tasks that restore an earlier deployment, or delete everything of a record."""

from collections.abc import Collection, Sequence
from enum import StrEnum

from msgspec.structs import replace

from fabric.graph.compile import is_whole_service_deploy
from fabric.graph.taskgraph import TaskGraph
from fabric.model.records.record import Deployment, Record, RecordRef
from fabric.model.task import Task
from fabric.model.task_id import TaskId, build_task_id
from fabric.model.task_inputs import RemoveInputs, RestoreInputs, StackInputs, WorkflowInputs


class StackUndo(StrEnum):
    """The effect of a rollback on stacks. UNDO also deletes data of resources that the failed run
    added."""

    KEEP = "keep"
    RESTORE = "restore"
    UNDO = "undo"


def plan_rollback(
    record: Record, target: Deployment, stacks: StackUndo = StackUndo.KEEP
) -> list[Task]:
    """Plan the tasks from the deployed state to an earlier deployment, in the order of a deploy."""
    ref = record.ref
    then = {one.name: one for one in target.functions}
    moved = tuple(name for name, one in then.items() if record.function(name) != one)
    service = build_task_id("restore", ref.service, provider=ref.provider)
    kept = {one.name for one in target.workflows}
    left = plan_workflow_removal(record, (service,), kept)
    if is_whole_service_deploy(record.provider_id, record.mode):
        return [Task(service, _restore(record, target, "", tuple(then))), *left]
    first = _plan_stack_return(record, target, "before", stacks)
    begin = tuple(task.id for task in first)
    restores = [
        Task(_build_task_id("restore", ref, name), _restore(record, target, name, (name,)), begin)
        for name in moved
    ]
    needs = (*begin, *(task.id for task in restores))
    last = Task(service, _restore(record, target, "", ()), needs)
    # Workflows call functions until they are deleted.
    uncalled = (service, *(task.id for task in left))
    removes = [
        Task(_build_task_id("remove", ref, one.name), _remove(record, one.name), uncalled)
        for one in record.functions
        if one.name not in then
    ]
    end = _plan_stack_return(record, target, "after", stacks)
    end = [replace(one, needs=(service,)) for one in end]
    return [*first, *restores, last, *left, *removes, *end]


def _plan_stack_return(
    record: Record, target: Deployment, phase: str, stacks: StackUndo
) -> list[Task]:
    """Plan the return of a stack to its earlier template. The policy of a new stack decides whether
    it is deleted."""
    now, then = record.stack(phase), target.stack(phase)
    if stacks is StackUndo.KEEP or now is None:
        return []
    if then is None:
        return _plan_stack_removal(record, phase, ()) if stacks is StackUndo.UNDO else []
    if now.key == then.key and now.template == then.template:
        return []
    known = {one.id for one in then.resources}
    added = tuple(one.id for one in now.resources if one.id not in known)
    inputs = StackInputs(
        *(record.ref.service, phase, record.ref.provider, record.ref.stage, target.mode),
        restores=target.deployment_id,
        disposable=added if stacks is StackUndo.UNDO else (),
    )
    return [Task(_build_task_id("stack", record.ref, phase), inputs)]


def plan_removal(
    record: Record, after: Sequence[TaskId] = (), *, with_stage: bool = False
) -> list[Task]:
    """Plan the deletion of a record. Providers of single functions get one task each. `with_stage`
    keeps the tasks of several stages apart."""
    if with_stage:
        tasks = plan_removal(record, after)
        names = {one.id: name_stage(one.id, record.ref) for one in tasks}
        return [
            replace(one, id=names[one.id], needs=tuple(names.get(id_, id_) for id_ in one.needs))
            for one in tasks
        ]
    ref = record.ref
    first = _plan_stack_removal(record, "after", after)
    after = tuple(task.id for task in first) or tuple(after)
    workflows = plan_workflow_removal(record, after)
    after = tuple(task.id for task in workflows) or after
    whole = is_whole_service_deploy(record.provider_id, record.mode)
    single = () if whole else tuple(one.name for one in record.functions)
    tasks = [
        Task(_build_task_id("remove", ref, name), _remove(record, name), tuple(after))
        for name in single
    ]
    needs = tuple(task.id for task in tasks) or tuple(after)
    last = Task(
        build_task_id("remove", ref.service, provider=ref.provider), _remove(record, ""), needs
    )
    return [*first, *workflows, *tasks, last, *_plan_stack_removal(record, "before", (last.id,))]


def name_stage(task: TaskId, ref: RecordRef) -> TaskId:
    """Return the id of a task with the stage of its record."""
    return TaskId(f"{task}@{ref.stage}")


def plan_workflow_removal(
    record: Record, needs: Sequence[TaskId], kept: Collection[str] = ()
) -> list[Task]:
    """Plan the deletion of the state machines of a record, except for those to keep."""
    ref = record.ref
    return [
        Task(
            _build_task_id("workflow", ref, one.name),
            WorkflowInputs(
                *(ref.service, one.name, ref.provider, ref.stage, record.mode), is_removed=True
            ),
            tuple(needs),
        )
        for one in record.workflows
        if one.name not in kept
    ]


def _plan_stack_removal(record: Record, phase: str, needs: Sequence[TaskId]) -> list[Task]:
    """Plan the deletion of a stack, if its policy is to delete it."""
    ref, found = record.ref, record.stack(phase)
    if found is None or found.is_kept:
        return []
    inputs = StackInputs(
        service=ref.service,
        phase=phase,
        provider=ref.provider,
        stage=ref.stage,
        mode=record.mode,
        is_removed=True,
    )
    return [Task(_build_task_id("stack", ref, phase), inputs, tuple(needs))]


def plan_function_removal(record: Record, names: frozenset[str]) -> list[Task]:
    """Plan the deletion of single functions. The service and its other functions stay."""
    live = [one.name for one in record.functions if one.name in names]
    return [
        Task(_build_task_id("remove", record.ref, name), _remove(record, name)) for name in live
    ]


def build_undo_graph(
    record: Record, target: Deployment | None, stacks: StackUndo = StackUndo.KEEP
) -> TaskGraph:
    """Build the graph of one service: restore an earlier deployment, or delete everything without
    one."""
    from fabric.graph.build_graph import (
        build_graph,  # networkx: imported when something is compiled
    )

    if target is None:
        return build_graph(plan_removal(record))
    return build_graph(plan_rollback(record, target, stacks))


def list_restored_functions(graph: TaskGraph) -> frozenset[str]:
    """List the functions that a rollback deploys again. Others stay or are deleted."""
    restores = (one for one in graph.inputs_of("restore") if isinstance(one, RestoreInputs))
    return frozenset(name for inputs in restores for name in inputs.functions)


def _restore(
    record: Record, target: Deployment, function: str, functions: tuple[str, ...]
) -> RestoreInputs:
    ref = record.ref
    return RestoreInputs(
        service=ref.service,
        function=function,
        provider=ref.provider,
        stage=ref.stage,
        mode=target.mode,
        deployment=target.deployment_id,
        functions=functions,
    )


def _remove(record: Record, function: str) -> RemoveInputs:
    ref = record.ref
    return RemoveInputs(ref.service, function, ref.provider, ref.stage, record.mode)


def _build_task_id(kind: str, ref: RecordRef, function: str) -> TaskId:
    return build_task_id(kind, ref.service, function, ref.provider)
