"""Tasks of a rollback and of a removal, for single functions and whole services."""

from typing import Any

from msgspec.structs import replace

from fabric.graph.undo import (
    StackUndo,
    build_undo_graph,
    list_restored_functions,
    plan_function_removal,
    plan_removal,
    plan_rollback,
)
from fabric.model.records.endings import take_snapshot
from fabric.model.records.record import (
    Mode,
    Record,
    StackRecord,
    StackResource,
    WorkflowRecord,
)
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import StackInputs
from tests.support.records import function, record

AT = "@cloud1-lambda"
THEN = record(functions=(function("same"), function("moved"), function("old")))
NOW = replace(THEN, functions=(function("same"), function("moved", key="k2"), function("new")))


def whole(one: Record) -> Record:
    """A custom command deploys all functions together."""
    return replace(one, mode=Mode.COMMAND)


def test_rollback_restores_what_differs_then_releases_then_removes() -> None:
    graph = build_undo_graph(NOW, take_snapshot(THEN))
    assert graph.levels == (
        (f"restore:shop/moved{AT}", f"restore:shop/old{AT}"),
        (f"restore:shop{AT}",),
        (f"remove:shop/new{AT}",),
    )
    assert list_restored_functions(graph) == {"moved", "old"}


def test_removals_of_several_stages_have_ids_of_their_own() -> None:
    tasks = [
        task
        for stage in ("a", "b")
        for task in plan_removal(record(stage), (TaskId("remove:web"),), with_stage=True)
    ]
    assert {one.id: one.needs for one in tasks} == {
        f"remove:shop/hello{AT}@a": ("remove:web",),
        f"remove:shop{AT}@a": (f"remove:shop/hello{AT}@a",),
        f"remove:shop/hello{AT}@b": ("remove:web",),
        f"remove:shop{AT}@b": (f"remove:shop/hello{AT}@b",),
    }


def test_rollback_of_a_whole_service_is_one_task() -> None:
    graph = build_undo_graph(whole(NOW), take_snapshot(whole(THEN)))
    assert graph.ids == (f"restore:shop{AT}",)
    assert list_restored_functions(graph) == {"same", "moved", "old"}


def test_rollback_uses_the_mode_of_the_earlier_deployment() -> None:
    target = take_snapshot(replace(THEN, mode=Mode.REAL))
    restored = [one.inputs for one in plan_rollback(NOW, target) if one.kind == "restore"]
    assert {getattr(one, "mode", None) for one in restored} == {Mode.REAL}


def test_removal_deletes_functions_before_their_service() -> None:
    assert build_undo_graph(THEN, None).levels == (
        (f"remove:shop/moved{AT}", f"remove:shop/old{AT}", f"remove:shop/same{AT}"),
        (f"remove:shop{AT}",),
    )
    assert [one.id for one in plan_removal(whole(THEN))] == [f"remove:shop{AT}"]


def test_removal_starts_after_the_given_tasks() -> None:
    after = (TaskId("remove:dependent"),)
    *single, last = plan_removal(THEN, after)
    assert {one.needs for one in single} == {after}
    assert last.needs == tuple(one.id for one in single)
    (only,) = plan_removal(whole(THEN), after)
    assert only.needs == after


def test_removal_of_functions_keeps_the_service() -> None:
    tasks = plan_function_removal(THEN, frozenset({"old", "missing"}))
    assert [(one.id, one.needs) for one in tasks] == [(f"remove:shop/old{AT}", ())]


def stack(key: str = "k1", phase: str = "before", **fields: Any) -> StackRecord:
    ids = fields.pop("ids", ("Table",))
    resources = tuple(StackResource(one, "AWS::SQS::Queue", "digest") for one in ids)
    return StackRecord(phase=phase, name="shop-dev", key=key, resources=resources, **fields)


def test_a_rollback_keeps_stacks_unless_they_are_asked_for() -> None:
    now = replace(NOW, stacks=(stack("k2"),))
    then = take_snapshot(replace(THEN, stacks=(stack("k1"),)))
    assert "stack" not in {one.kind for one in plan_rollback(now, then)}
    first, *_ = plan_rollback(now, then, StackUndo.RESTORE)
    assert first.id == f"stack:shop/before{AT}"
    assert isinstance(first.inputs, StackInputs)
    assert (first.inputs.restores, first.inputs.disposable) == (then.deployment_id, ())


def test_an_undone_run_also_deletes_the_resources_that_it_added() -> None:
    now = replace(NOW, stacks=(stack("k2", ids=("Table", "Jobs")),))
    then = take_snapshot(replace(THEN, stacks=(stack("k1"),)))
    first, *_ = plan_rollback(now, then, StackUndo.UNDO)
    assert isinstance(first.inputs, StackInputs)
    assert first.inputs.disposable == ("Jobs",)


def test_an_unchanged_stack_is_not_restored() -> None:
    now, then = replace(NOW, stacks=(stack(),)), replace(THEN, stacks=(stack(),))
    tasks = plan_rollback(now, take_snapshot(then), StackUndo.RESTORE)
    assert "stack" not in {one.kind for one in tasks}


def test_a_new_stack_is_deleted_only_by_an_undone_run_and_its_policy() -> None:
    then = take_snapshot(THEN)
    for policy, mode, removed in (
        ("delete", StackUndo.UNDO, 1),
        ("keep", StackUndo.UNDO, 0),
        ("delete", StackUndo.RESTORE, 0),
    ):
        now = replace(NOW, stacks=(stack(on_remove=policy),))
        tasks = plan_rollback(now, then, mode)
        assert sum(one.kind == "stack" for one in tasks) == removed


def test_a_removal_deletes_stacks_and_workflows_in_the_order_of_their_use() -> None:
    stacks = (stack(on_remove="delete"), stack(phase="after", on_remove="delete"))
    workflows = (WorkflowRecord(name="flow"),)
    found = replace(record(functions=(function("a"),)), stacks=stacks, workflows=workflows)
    assert [one.id for one in plan_removal(found)] == [
        f"stack:shop/after{AT}",
        f"workflow:shop/flow{AT}",
        f"remove:shop/a{AT}",
        f"remove:shop{AT}",
        f"stack:shop/before{AT}",
    ]
