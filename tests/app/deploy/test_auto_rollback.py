"""The end of a failed deploy: groups of outcomes, and reports of incomplete rollbacks."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from fabric.app.deploy.auto_rollback import RolledBack, group_outcomes, is_good, take_back
from fabric.engine.bus import Bus
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.schedule import Caps
from fabric.model.records.record import Record
from fabric.system.clock import SystemClock
from tests.app.deploy.scopes import result_of
from tests.support.plans import service
from tests.support.records import function, record
from tests.tasks.tools import HeldRecord

if TYPE_CHECKING:
    from fabric.app.records.scope import DeployScope
    from fabric.app.session import Session

TASKS = service("shop", ("hello",))
FAILED = (Status.RAN, Status.RAN, Status.FAILED, Status.BLOCKED)
UNSURE = record(functions=(function(key=""),))


def rolled_back(base: Record, now: Record, result: RunResult) -> RolledBack:
    held: Any = HeldRecord(now)
    held.base = base
    scope = SimpleNamespace(
        transaction=SimpleNamespace(locked_records=(held,)),
        work=SimpleNamespace(
            units=SimpleNamespace(all=lambda: ()), options=lambda ref: f"--stage {ref.stage}"
        ),
        targets=SimpleNamespace(go_back_to=lambda targets: None),
    )
    return take_back(
        cast("Session", None),
        cast("DeployScope", scope),
        Bus("run", SystemClock(), []),
        Caps(1, 1),
        result,
    )


def test_outcomes_are_grouped_by_record_without_builds() -> None:
    tasks = [*TASKS, *service("auth", ("login",))]
    found = group_outcomes(result_of(tasks, *FAILED, *[Status.RAN] * 4))
    assert {ref.service: [one.status for one in rows] for ref, rows in found.items()} == {
        "shop": [Status.FAILED, Status.BLOCKED],
        "auth": [Status.RAN, Status.RAN],
    }


@pytest.mark.parametrize(
    ("statuses", "good"),
    [
        ((), True),
        ((Status.RAN, Status.SKIPPED), True),
        ((Status.RAN, Status.FAILED), False),
        ((Status.BLOCKED,), False),
        ((Status.CANCELLED,), False),
    ],
)
def test_only_finished_and_skipped_tasks_are_good(
    statuses: tuple[Status, ...], *, good: bool
) -> None:
    assert is_good(Outcome(one) for one in statuses) is good


def test_an_interrupted_run_is_not_rolled_back_and_this_is_reported() -> None:
    back = rolled_back(record(), UNSURE, result_of(TASKS, *FAILED, interrupted=True))
    assert [one.code for one in back.result.aftermath] == ["rollback/interrupted"]
    assert back.refs == frozenset()


def test_an_interrupted_run_that_changed_nothing_reports_nothing() -> None:
    back = rolled_back(record(), record(), result_of(TASKS, *FAILED, interrupted=True))
    assert back.result.aftermath == ()


@pytest.mark.parametrize(
    ("base", "command"),
    [
        (UNSURE, "rollback --to cloud1-lambda-dev-1-abcdef"),
        (record(functions=(function(key=""),), history=()), "remove"),
        (
            record(functions=(function(key=""),), deployment_id="bad", history=record().history),
            "rollback --to cloud1-lambda-dev-1-abcdef",
        ),
        (
            record(
                functions=(function(key=""),),
                deployment_id="older",
                history=(*record().history, *record(deployment_id="older").history),
            ),
            "rollback --to older",
        ),
    ],
    ids=["last deployment", "no deployment", "last good deployment", "restored deployment"],
)
def test_a_function_that_was_unknown_before_cannot_be_restored(base: Record, command: str) -> None:
    back = rolled_back(base, base, result_of(TASKS, *FAILED))
    (problem,) = back.result.aftermath
    assert problem.code == "rollback/incomplete"
    assert problem.hint == f"fix the cause, then run: fabric {command} --stage dev"


def test_a_record_that_the_run_did_not_reach_is_not_reported() -> None:
    statuses = (Status.FAILED, Status.BLOCKED, Status.BLOCKED, Status.BLOCKED)
    back = rolled_back(UNSURE, UNSURE, result_of(TASKS, *statuses))
    assert back.result.aftermath == ()
