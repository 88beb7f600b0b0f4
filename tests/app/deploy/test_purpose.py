"""The final record of a run: by its purpose, and by how its tasks ended."""

from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabric.app.deploy.purpose import (
    Deploying,
    GoingBack,
    Purpose,
    RecordEnding,
    Removing,
    compute_final_record,
    get_operation,
    has_moved,
)
from fabric.model.records.endings import take_snapshot
from fabric.model.records.record import Lifecycle, Origin, PreviewStage, Record
from fabric.state.records.locked_record import LockedRecord
from tests.support.records import function, record
from tests.tasks.tools import HeldRecord

BASE = record()
NEW = record(deployment_id="", functions=(), history=(), endpoint="", outputs=(), lifecycle="x")


def locked(base: Record, now: Record) -> LockedRecord:
    held: Any = HeldRecord(now)
    held.base = base
    return cast("LockedRecord", held)


def ending(*, ok: bool = True, is_as_before: bool = False) -> RecordEnding:
    return RecordEnding(ok, is_as_before, "next-id", "2026-02-02T00:00:00.000Z")


CHANGED = record(functions=(function(key="other"),))


def test_a_deploy_that_changed_something_is_a_new_deployment() -> None:
    final = compute_final_record(Deploying(), locked(BASE, CHANGED), ending())
    assert final is not None
    assert (final.deployment_id, final.lifecycle) == ("next-id", Lifecycle.DEPLOYED)
    assert [one.deployment_id for one in final.history] == ["next-id", BASE.deployment_id]


def test_a_deploy_that_changed_nothing_stays_the_same_deployment() -> None:
    final = compute_final_record(Deploying(), locked(BASE, BASE), ending())
    assert final is not None
    assert final.deployment_id == BASE.deployment_id


def test_a_deployment_keeps_its_commit_until_something_changes() -> None:
    later = Origin("2" * 40)
    base = replace(BASE, origin=Origin("1" * 40))
    same = compute_final_record(Deploying(), locked(base, replace(base, origin=later)), ending())
    other = compute_final_record(
        Deploying(), locked(base, replace(CHANGED, origin=later)), ending()
    )
    assert same is not None
    assert other is not None
    assert (same.origin, other.origin, other.history[0].origin) == (base.origin, later, later)


def test_a_preview_stays_marked_if_its_deploy_fails() -> None:
    marked = replace(BASE, preview=PreviewStage("2026-03-01T00:00:00.000Z"))
    for end in (ending(ok=False), ending(ok=False, is_as_before=True)):
        final = compute_final_record(Deploying(), locked(BASE, marked), end)
        assert final is not None
        assert final.preview == marked.preview


def test_a_failed_deploy_is_recorded_as_failed() -> None:
    final = compute_final_record(Deploying(), locked(BASE, CHANGED), ending(ok=False))
    assert final is not None
    assert (final.deployment_id, final.lifecycle) == ("next-id", Lifecycle.FAILED)


def test_a_first_deploy_that_made_no_call_leaves_no_record() -> None:
    assert compute_final_record(Deploying(), locked(NEW, NEW), ending(ok=False)) is None


@pytest.mark.parametrize(("base", "stays"), [(BASE, True), (NEW, False)])
def test_a_deploy_that_was_rolled_back_leaves_what_was_there(base: Record, *, stays: bool) -> None:
    purpose, end = Deploying(rollback=True), ending(ok=False, is_as_before=True)
    final = compute_final_record(purpose, locked(base, base), end)
    assert (final is not None) == stays
    if final is not None:
        assert final.deployment_id == base.deployment_id


def test_a_removal_of_everything_leaves_no_record() -> None:
    assert compute_final_record(Removing(), locked(BASE, CHANGED), ending()) is None


def test_a_removal_of_one_function_keeps_the_others() -> None:
    base = record(functions=(function(), function("world")))
    now = record(functions=(function("world"),))
    final = compute_final_record(Removing(frozenset({"hello"})), locked(base, now), ending())
    assert final is not None
    assert [one.name for one in final.functions] == ["world"]


def test_a_removal_of_the_last_functions_leaves_no_record() -> None:
    now = record(functions=())
    purpose = Removing(frozenset({"hello"}))
    assert compute_final_record(purpose, locked(BASE, now), ending()) is None


def test_a_rollback_makes_the_earlier_deployment_the_current_one() -> None:
    target = take_snapshot(BASE)
    now = record(deployment_id="later", history=(take_snapshot(CHANGED), target))
    final = compute_final_record(GoingBack({BASE.ref: target}), locked(now, now), ending())
    assert final is not None
    assert final.deployment_id == target.deployment_id
    assert final.history[0].deployment_id == target.deployment_id


@pytest.mark.parametrize(
    ("purpose", "operation"),
    [(Deploying(), "deploy"), (Removing(), "remove"), (GoingBack({}), "rollback")],
)
def test_each_purpose_has_an_operation(purpose: Purpose, operation: str) -> None:
    assert get_operation(purpose) == operation


def test_only_deployed_facts_count_as_a_change() -> None:
    assert has_moved(locked(BASE, CHANGED))
    assert not has_moved(locked(BASE, record(serial=9, fence=9)))
