"""The end of a run: receipts, records and locks."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from fabric.app.deploy.closing import Finals, close_run
from fabric.app.records.scope import DeployScope
from fabric.engine.result import RunResult
from fabric.graph.build_graph import build_graph
from fabric.model.records.record import Lifecycle, Mode, Record
from fabric.model.records.record_json import decode
from fabric.state.backends.local import Local
from fabric.state.contract import lock_key
from fabric.state.locks.document import decode_lock
from fabric.state.records.archives import build_archive_path, keep_archive
from fabric.state.records.receipts import build_receipt_path, deploy_record_path, write_receipts
from fabric.state.records.transaction import Claim
from tests.app.deploy.scopes import deployed, placement, scope, store, stored
from tests.support.records import ARCHIVE, SHA256

if TYPE_CHECKING:
    from fabric.app.session import Session

BASE = deployed()
REF = BASE.ref
SESSION = cast("Session", SimpleNamespace(stores=SimpleNamespace(trace_store=None)))
RESULT = RunResult(build_graph([]), (), 1)


@contextmanager
def locked(folder: Path, *records: Record) -> Iterator[DeployScope]:
    """A run that has locked all these records."""
    store(folder, *records)
    places = [placement(folder, one.ref.service, one.ref.provider) for one in records]
    with scope(folder, *places) as found:
        found.transaction.expect(
            Claim(one.ref, "deploy", Mode.SIMULATED, one.provider_id, "", (), lambda _: None)
            for one in records
        )
        found.transaction.lock_record(records[0].ref)
        yield found


def closed(folder: Path, finals: Finals, *records: Record) -> tuple[RunResult, Finals]:
    with locked(folder, *records) as found:
        now = {one.base.ref: one.record for one in found.transaction.locked_records}
        given = {
            ref: one and replace(one, serial=now[ref].serial, fence=now[ref].fence)
            for ref, one in finals.items()
        }
        return close_run(SESSION, found, RESULT, given)


def receipt(folder: Path) -> list[dict[str, Any]]:
    path = build_receipt_path(folder / ".fabric", "dev")
    return cast("list[dict[str, Any]]", json.loads(path.read_text())["deployments"])


def final(**changes: object) -> Record:
    return replace(
        BASE, **{"deployment_id": "second", "endpoint": "https://new.example", **changes}
    )


def read(folder: Path) -> Record:
    content = stored(folder, REF)
    assert content
    return decode(content, "here")


def test_the_final_record_and_its_receipts_are_written(tmp_path: Path) -> None:
    result, finals = closed(tmp_path, {REF: final()}, BASE)
    assert result.problems == ()
    assert read(tmp_path).deployment_id == "second"
    assert [one["deploymentId"] for one in receipt(tmp_path)] == ["second"]
    assert deploy_record_path(tmp_path / ".fabric", REF.provider).exists()
    assert finals[REF]


def test_locks_are_released(tmp_path: Path) -> None:
    closed(tmp_path, {REF: final()}, BASE)
    found = Local(tmp_path / ".fabric" / "state").read(lock_key(REF))
    assert found is None or decode_lock(found.content) is None


def test_a_deleted_record_has_no_receipt(tmp_path: Path) -> None:
    write_receipts(tmp_path / ".fabric", BASE)
    closed(tmp_path, {REF: None}, BASE)
    assert stored(tmp_path, REF) is None
    assert not build_receipt_path(tmp_path / ".fabric", "dev").exists()


def test_a_record_without_a_deploy_has_no_receipt(tmp_path: Path) -> None:
    closed(tmp_path, {REF: final(functions=(), deployment_id="")}, BASE)
    assert not build_receipt_path(tmp_path / ".fabric", "dev").exists()


def test_a_failed_receipt_leaves_the_record_unfinished(tmp_path: Path) -> None:
    build_receipt_path(tmp_path / ".fabric", "dev").mkdir(parents=True)
    result, finals = closed(tmp_path, {REF: final()}, BASE)
    assert result.problems
    assert not result.ok
    left = read(tmp_path)
    assert (left.lifecycle, left.deployment_id) == (Lifecycle.FAILED, "second")
    late = finals[REF]
    assert late
    assert late.lifecycle is Lifecycle.FAILED


def test_archives_that_no_record_names_are_deleted(tmp_path: Path) -> None:
    other = deployed("cart")
    gone = final(functions=(), history=())
    for records, is_there in (((BASE,), False), ((BASE, other), True)):
        folder = tmp_path / f"{len(records)}"
        with scope(folder, placement(folder)) as found:
            keep_archive(found.transaction.record_store(REF), REF, ARCHIVE)
        closed(folder, {REF: gone, **{one.ref: one for one in records[1:]}}, *records)
        assert build_archive_path(folder / ".fabric", SHA256).exists() is is_there
