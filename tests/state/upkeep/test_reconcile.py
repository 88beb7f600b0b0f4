"""Config, record, receipts and provider side by side."""

import pytest
from msgspec.structs import replace

from fabric.model.records.endings import take_snapshot
from fabric.model.records.receipt import encode_receipt_entry, with_entry
from fabric.model.records.record import Intent, Operation
from fabric.state.upkeep.reconcile import (
    Evidence,
    EvidenceFiles,
    SyncStatus,
    find_divergences,
    has_receipt_drift,
    summarize_divergences,
)
from tests.support.records import function, record

RECORD = record()
INTENT = Intent("deploy:shop/hello@cloud1-lambda", Operation.DEPLOY, "hello")
GOOD = Evidence(
    RECORD.ref,
    RECORD,
    functions=frozenset({"hello"}),
    files=EvidenceFiles(
        receipt=with_entry(None, "dev", encode_receipt_entry(RECORD)),
        deploy_record={"stage": "dev", **encode_receipt_entry(RECORD)},
        is_last_deploy=True,
    ),
)


def with_files(**files: object) -> Evidence:
    return replace(GOOD, files=replace(GOOD.files, **files))


def status(evidence: Evidence) -> SyncStatus:
    return summarize_divergences(find_divergences(evidence)).status


def test_matching_evidence_is_in_sync() -> None:
    assert find_divergences(GOOD) == ()
    assert status(GOOD) is SyncStatus.IN_SYNC


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (replace(GOOD, record=None), SyncStatus.MISSING),
        (replace(with_files(receipt=None), record=None), SyncStatus.MISSING),
        (replace(with_files(receipt=None, deploy_record=None), record=None), SyncStatus.IN_SYNC),
        (with_files(receipt=None), SyncStatus.DRIFTED),
        (with_files(receipt=[1]), SyncStatus.DRIFTED),
        (with_files(deploy_record=None), SyncStatus.DRIFTED),
        (with_files(deploy_record=None, is_last_deploy=False), SyncStatus.IN_SYNC),
        (with_files(deploy_record={"service": "shop", "stage": "prod"}), SyncStatus.IN_SYNC),
        (with_files(deploy_record={"service": "shop", "stage": "dev"}), SyncStatus.DRIFTED),
        (replace(GOOD, lost_archives=("a" * 64,)), SyncStatus.DRIFTED),
        (replace(GOOD, is_errored=True), SyncStatus.DRIFTED),
        (replace(GOOD, record=replace(RECORD, pending=(INTENT,))), SyncStatus.DRIFTED),
        (replace(GOOD, functions=frozenset()), SyncStatus.ORPHANED),
        (replace(GOOD, functions=None), SyncStatus.ORPHANED),
        (replace(GOOD, live={"hello": None}), SyncStatus.MISSING),
        (replace(GOOD, live={"hello": "other"}), SyncStatus.DRIFTED),
        (replace(GOOD, live={"hello": ""}), SyncStatus.IN_SYNC),
        (replace(GOOD, live={"hello": function().artifact_sha256}), SyncStatus.IN_SYNC),
    ],
)
def test_mismatches_have_specific_statuses(evidence: Evidence, expected: SyncStatus) -> None:
    assert status(evidence) is expected


@pytest.mark.parametrize(("digest", "expected"), [("1", "in-sync"), ("2", "drifted")])
def test_an_image_is_compared_by_its_digest(digest: str, expected: str) -> None:
    row = replace(RECORD, functions=(function(image="here/team@sha256:1"),))
    live = {"hello": f"there/team@sha256:{digest}"}
    assert status(replace(GOOD, record=row, live=live)) == expected


def test_a_function_without_a_successful_release_receives_no_traffic() -> None:
    unreleased = replace(RECORD, history=())
    [found] = find_divergences(replace(GOOD, record=unreleased, live={"hello": None}))
    assert found.detail == "function `hello` receives no traffic: no release has succeeded yet"
    released = replace(RECORD, history=(take_snapshot(RECORD),))
    [found] = find_divergences(replace(GOOD, record=released, live={"hello": None}))
    assert found.detail == "function `hello` does not exist at the provider"


def test_the_worst_is_the_status_and_all_is_in_the_detail() -> None:
    found = summarize_divergences(
        find_divergences(replace(with_files(receipt=None), live={"hello": None}, functions=None))
    )
    assert found.status is SyncStatus.MISSING
    assert found.detail.count(";") == 2


def test_only_receipts_can_be_recreated() -> None:
    assert has_receipt_drift(with_files(receipt=None))
    assert not has_receipt_drift(replace(GOOD, record=None))
    assert not has_receipt_drift(replace(GOOD, lost_archives=("a",), functions=None))
