"""Config, record, receipts and provider side by side."""

from dataclasses import replace

import pytest

from fabric.model.records.receipt import receipt_entry, with_entry
from fabric.model.records.record import Intent, Operation
from fabric.state.upkeep.reconcile import Evidence, Status, findings, has_receipt_drift, summed_up
from tests.records import function, record

RECORD = record()
INTENT = Intent("deploy:shop/hello@cloud1-lambda", Operation.DEPLOY, "hello")
GOOD = Evidence(
    RECORD.ref,
    RECORD,
    with_entry(None, "dev", receipt_entry(RECORD)),
    {"stage": "dev", **receipt_entry(RECORD)},
    is_last_deploy=True,
    functions=frozenset({"hello"}),
)


def status(evidence: Evidence) -> Status:
    return summed_up(findings(evidence)).status


def test_what_agrees_is_in_sync() -> None:
    assert findings(GOOD) == ()
    assert status(GOOD) is Status.IN_SYNC


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (replace(GOOD, record=None), Status.MISSING),
        (replace(GOOD, record=None, receipt=None), Status.MISSING),
        (replace(GOOD, record=None, receipt=None, deploy_record=None), Status.IN_SYNC),
        (replace(GOOD, receipt=None), Status.DRIFTED),
        (replace(GOOD, receipt=[1]), Status.DRIFTED),
        (replace(GOOD, deploy_record=None), Status.DRIFTED),
        (replace(GOOD, deploy_record=None, is_last_deploy=False), Status.IN_SYNC),
        (replace(GOOD, deploy_record={"service": "shop", "stage": "prod"}), Status.IN_SYNC),
        (replace(GOOD, deploy_record={"service": "shop", "stage": "dev"}), Status.DRIFTED),
        (replace(GOOD, lost_archives=("a" * 64,)), Status.DRIFTED),
        (replace(GOOD, is_errored=True), Status.DRIFTED),
        (replace(GOOD, record=replace(RECORD, pending=(INTENT,))), Status.DRIFTED),
        (replace(GOOD, functions=frozenset()), Status.ORPHANED),
        (replace(GOOD, functions=None), Status.ORPHANED),
        (replace(GOOD, live={"hello": None}), Status.MISSING),
        (replace(GOOD, live={"hello": "other"}), Status.DRIFTED),
        (replace(GOOD, live={"hello": ""}), Status.IN_SYNC),
        (replace(GOOD, live={"hello": function().artifact_sha256}), Status.IN_SYNC),
    ],
)
def test_what_does_not_agree_has_a_status(evidence: Evidence, expected: Status) -> None:
    assert status(evidence) is expected


def test_the_worst_is_the_status_and_all_is_in_the_detail() -> None:
    found = summed_up(findings(replace(GOOD, live={"hello": None}, receipt=None, functions=None)))
    assert found.status is Status.MISSING
    assert found.detail.count(";") == 2


def test_only_receipts_can_be_made_anew() -> None:
    assert has_receipt_drift(replace(GOOD, receipt=None))
    assert not has_receipt_drift(replace(GOOD, record=None))
    assert not has_receipt_drift(replace(GOOD, lost_archives=("a",), functions=None))
