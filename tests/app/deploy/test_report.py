"""The report of a deploy by service and function."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from fabric.app.deploy.change_records import Changed
from fabric.app.deploy.report import build_unchanged_report, deploy_report
from fabric.app.preview import Preview
from fabric.app.records.scope import DeployScope
from fabric.app.request import Detail, Request
from fabric.engine.result import Status
from fabric.graph.decide import UP_TO_DATE
from fabric.model.names import Verb
from fabric.model.outcomes.deployed import DeployOutcome, ServiceEnd
from fabric.model.problems import ExitCode, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.records.record import Record
from fabric.model.report import Report
from tests.app.deploy.scopes import compiled, placement, result_of
from tests.support.plans import plan_of, service
from tests.support.records import function, record

TASKS = service("shop", ("hello", "world"))
BASE = record(functions=(function("hello"), function("world")))
REF = BASE.ref
DONE = (Status.RAN,) * len(TASKS)
# Builds, packages and deploys of two functions, and a release.
HALF = (Status.RAN, Status.RAN, Status.RAN, Status.RAN, Status.RAN, Status.FAILED, Status.BLOCKED)
REQUEST = Request(Verb.DEPLOY, "deploy")


def scope_of(base: Record | None) -> DeployScope:
    transaction = SimpleNamespace(record=lambda ref: base, base=lambda ref: base)
    where = placement(Path("/nowhere"))
    found = SimpleNamespace(
        placements={REF: where}, transaction=transaction, deployment_ids={REF: "next-id"}
    )
    return cast("DeployScope", found)


def report(
    statuses: tuple[Status, ...],
    base: Record | None,
    final: Record | None,
    *,
    is_rolled_back: bool = False,
) -> Report:
    result = result_of(TASKS, *statuses)
    changed = Changed(
        scope=scope_of(base),
        info=ProjectInfo("/nowhere", "dev", (Problem("x/warned", "careful"),)),
        result=result,
        finals={REF: final},
        rolled_back=frozenset({REF} if is_rolled_back else ()),
    )
    return deploy_report(REQUEST, Preview(compiled(TASKS), plan_of(TASKS)), changed)


def row_of(found: Report) -> ServiceEnd:
    assert isinstance(found.outcome, DeployOutcome)
    (row,) = found.outcome.deployments
    return row


def ends(found: Report) -> dict[str, str]:
    return {one.name: one.status for one in row_of(found).functions}


def test_a_first_deploy_creates_its_functions() -> None:
    found = report(DONE, None, BASE)
    assert row_of(found).status == "deployed"
    assert ends(found) == {"hello": "created", "world": "created"}
    assert found.exit_code is ExitCode.OK
    assert [one.code for one in found.warnings] == ["x/warned"]


def test_only_functions_that_differ_are_updated() -> None:
    final = replace(BASE, functions=(function("hello", key="new"), function("world")))
    found = report(DONE, BASE, final)
    assert ends(found) == {"hello": "updated", "world": "unchanged"}
    assert [one.reason for one in row_of(found).functions] == ["because", UP_TO_DATE]


def test_a_deploy_with_a_failed_function_is_partial() -> None:
    found = report(HALF, BASE, replace(BASE, functions=(function("hello", key="new"),)))
    assert row_of(found).status == "partial"
    assert ends(found) == {"hello": "updated", "world": "failed"}
    assert found.exit_code is ExitCode.PARTIAL


def test_a_complete_rollback_is_not_a_partial_deploy() -> None:
    found = report(HALF, BASE, BASE, is_rolled_back=True)
    assert row_of(found).status == "rolled-back"
    assert ends(found) == {"hello": "unchanged", "world": "failed"}
    assert found.exit_code is ExitCode.FAILED
    assert isinstance(found.outcome, DeployOutcome)
    assert found.outcome.rolled_back


def test_a_created_function_that_was_rolled_back_is_cancelled() -> None:
    found = report(HALF, None, None, is_rolled_back=True)
    hello = row_of(found).functions[0]
    assert (hello.status, hello.reason) == ("cancelled", "rolled back")


@pytest.mark.parametrize(
    ("status", "expected"),
    [(Status.CANCELLED, "cancelled"), (Status.SKIPPED, "unchanged"), (Status.BLOCKED, "blocked")],
)
def test_the_worst_outcome_is_the_status_of_a_service(status: Status, expected: str) -> None:
    assert row_of(report((status,) * len(TASKS), BASE, BASE)).status == expected


def test_a_failed_first_deploy_has_the_id_of_its_attempt() -> None:
    assert row_of(report(HALF, None, None)).deployment_id == "next-id"
    assert row_of(report(HALF, BASE, BASE)).deployment_id == BASE.deployment_id


def test_the_counts_are_those_of_the_run() -> None:
    found = report(HALF, BASE, BASE)
    assert isinstance(found.outcome, DeployOutcome)
    counts = found.outcome.summary
    assert (counts.ran, counts.failed, counts.blocked, counts.skipped) == (5, 1, 1, 0)


def test_a_deploy_without_changes_reports_everything_as_unchanged() -> None:
    request = replace(REQUEST, detail=Detail(profiled=True, cases=True))
    seen = Preview(compiled(TASKS), plan_of(TASKS))
    found = build_unchanged_report(request, seen, scope_of(BASE))
    assert ends(found) == {"hello": "unchanged", "world": "unchanged"}
    assert row_of(found).endpoint == BASE.endpoint
    assert found.notes
    assert len(found.cases) == len(TASKS)
    assert isinstance(found.outcome, DeployOutcome)
    assert found.outcome.summary.skipped == len(TASKS)
