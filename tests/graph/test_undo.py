"""Tasks of a rollback and of a removal, for single functions and whole services."""

from msgspec.structs import replace

from fabric.graph.undo import (
    build_undo_graph,
    list_restored_functions,
    plan_function_removal,
    plan_removal,
    plan_rollback,
)
from fabric.model.records.endings import take_snapshot
from fabric.model.records.record import Mode, Record
from fabric.model.task_id import TaskId
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
