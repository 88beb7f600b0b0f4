"""What an earlier version wrote is read, and comes out byte for byte where it is written again."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.records.changes import (
    FunctionDone,
    FunctionGone,
    FunctionUnsure,
    ReleaseDone,
    UnitDone,
)
from fabric.model.records.receipt import encode_receipt_entry
from fabric.model.records.record import Intent, Mode, Operation, Record, RecordRef
from fabric.model.records.record_json import decode, encode
from fabric.state.locks.document import decode_lock, encode_free, encode_lock, free_lock
from fabric.state.records.backup import decode_backup, encode_backup
from fabric.state.records.receipts import build_receipt_path, deploy_record_path, write_receipts
from fabric.state.records.unsure import build_unsure_path, keep_note, read_unsure_names
from fabric.state.records.wal import Wal, read_log
from fabric.system.process.process_identity import Process
from tests.support.old_files import FOLDER, old_file

REF = RecordRef("shop", "dev", "cloud1-lambda")


def old_record(name: str = "state.json") -> Record:
    return decode(old_file(name), name)


@pytest.mark.parametrize("name", ["state.json", "state-odd.json"])
def test_an_old_state_is_read_and_written_as_it_was(name: str) -> None:
    assert encode(old_record(name)) == old_file(name)


def test_old_state_file_decodes_to_the_same_values() -> None:
    found = old_record("state-odd.json")
    assert (found.ref, found.serial, found.fence, found.mode) == (REF, 4, 2, Mode.COMMAND)
    assert found.outputs == (("z", "1"), ("a", "ü"))
    assert found.functions[-1].settings == (("b", "2"), ("a", "1"))
    assert json.loads(found.functions[-1].triggers[0])["n"] == 2**70
    assert [one.functions[1].name for one in found.history] == ["sweep", "sweep"]
    assert found.pending == (
        Intent("deploy:shop@cloud1-lambda", Operation.DEPLOY, "hello,sweep", "id-1",
               "2026-01-01T00:00:00.000Z"),
        Intent("remove:shop/x@cloud1-lambda", Operation.REMOVE),
    )  # fmt: skip


def test_an_old_backup_is_read_and_written_as_it_was() -> None:
    found = decode_backup(old_file("backup.json"), "backup.json")
    assert found.records == (old_record(),)
    assert encode_backup(found) == old_file("backup.json")


def test_an_old_log_replays_and_is_written_as_it_was(tmp_path: Path) -> None:
    log = read_log(FOLDER / "wal.log")
    assert log is not None
    assert [type(one) for one in log.entries] == [
        FunctionDone, FunctionDone, FunctionGone, FunctionUnsure, UnitDone, ReleaseDone,
    ]  # fmt: skip
    assert log.entries[0] == FunctionDone(
        "deploy:shop/hello@cloud1-lambda", old_record().functions[0]
    )
    again = Wal(tmp_path / "wal.log", log.lineage, log.fence)
    again.append(*log.entries)
    again.close()
    assert (tmp_path / "wal.log").read_bytes() == old_file("wal.log")


def test_an_old_lock_is_read_and_written_as_it_was() -> None:
    found = decode_lock(old_file("lock.json"))
    assert found is not None
    assert found.process == Process("me", "host", 42, "boot-1", "pid:[4026531836]", 12345)
    assert encode_lock(found) == old_file("lock.json")
    assert free_lock(old_file("lock.json")) == 7


def test_an_old_free_lock_keeps_its_fence() -> None:
    assert decode_lock(old_file("lock-free.json")) is None
    assert free_lock(old_file("lock-free.json")) == 2
    assert encode_free(2) == old_file("lock-free.json")


def test_a_lock_without_proof_of_its_process_is_held_all_the_same() -> None:
    document = json.loads(old_file("lock.json"))
    del document["process"]
    found = decode_lock(json.dumps(document).encode())
    assert found is not None
    assert found.process == Process("me", "host", 42)


def test_old_receipts_are_written_as_they_were(tmp_path: Path) -> None:
    record = old_record()
    write_receipts(tmp_path, record)
    assert build_receipt_path(tmp_path, "dev").read_bytes() == old_file("receipt.json")
    last = deploy_record_path(tmp_path, "cloud1-lambda")
    assert last.read_bytes() == old_file("deployment.json")


def test_an_old_receipt_is_in_sync_with_its_record() -> None:
    assert json.loads(old_file("receipt.json"))["deployments"] == [
        encode_receipt_entry(old_record())
    ]


def test_other_services_in_an_old_receipt_are_preserved(tmp_path: Path) -> None:
    path = build_receipt_path(tmp_path, "dev")
    path.write_bytes(old_file("receipt.json"))
    other = replace(old_record(), ref=replace(REF, service="other"))
    write_receipts(tmp_path, other, last=False)
    assert json.loads(path.read_bytes())["deployments"] == [
        encode_receipt_entry(other),
        *json.loads(old_file("receipt.json"))["deployments"],
    ]


def test_an_old_note_is_read_and_written_as_it_was(tmp_path: Path) -> None:
    keep_note(tmp_path, REF, ("b", "a"))
    assert build_unsure_path(tmp_path, REF).read_bytes() == old_file("unsure.json")
    assert read_unsure_names(tmp_path, REF) == ("a", "b")
