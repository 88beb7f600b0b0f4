"""Missing records: lost, or never there."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.records.changes import FunctionGone
from fabric.model.records.record_json import encode
from fabric.state.backends.local import Local
from fabric.state.contract import build_archive_key, build_removed_key, build_state_key
from fabric.state.records.archives import keep_archive
from fabric.state.records.backup import Backup, encode_backup
from fabric.state.records.missing import (
    BACKUP_NAME,
    delete_removed_mark,
    drop_backup,
    find_backup_path,
    find_missing_problem,
    is_marked_removed,
    mark_removed,
)
from fabric.state.records.receipts import write_receipts
from fabric.state.records.unsure import keep_note
from fabric.state.records.wal import Wal, build_wal_path
from fabric.state.store import BackEndPair, RecordStore
from tests.support.memory_backend import MemoryBackend
from tests.support.records import ARCHIVE, record

LIVE = record()
REF = LIVE.ref


def shared(home: Path) -> RecordStore:
    backend = MemoryBackend()
    return RecordStore(home, BackEndPair(backend, backend))


def local(home: Path) -> RecordStore:
    backend = Local(home / "state")
    return RecordStore(home, BackEndPair(backend, backend))


def log(store: RecordStore, *, is_empty: bool) -> None:
    wal = Wal(build_wal_path(store.home, REF, 3), LIVE.lineage, 3)
    wal.begin()
    if not is_empty:
        wal.append(FunctionGone("task", "hello"))
    wal.close()


WITNESSES: dict[str, Callable[[RecordStore], object]] = {
    "the receipt": lambda store: write_receipts(store.home, LIVE, last=False),
    "the deploy record": lambda store: write_receipts(store.home, LIVE),
    "the log": lambda store: log(store, is_empty=False),
    "unsure": lambda store: keep_note(store.home, REF, ["hello"]),
    "1 archives in `memory/": lambda store: keep_archive(store, REF, ARCHIVE),
}


@pytest.mark.parametrize("words", WITNESSES)
def test_a_record_that_other_data_names_is_lost(tmp_path: Path, words: str) -> None:
    store = shared(tmp_path)
    WITNESSES[words](store)
    problem = find_missing_problem(store, REF)
    assert problem
    assert problem.code == "state/missing"
    assert words in problem.message


@pytest.mark.parametrize("words", WITNESSES)
def test_a_record_that_was_deleted_is_not_lost(tmp_path: Path, words: str) -> None:
    store = shared(tmp_path)
    WITNESSES[words](store)
    mark_removed(store, REF)
    assert find_missing_problem(store, REF) is None


def test_a_record_that_is_there_or_never_was_is_not_lost(tmp_path: Path) -> None:
    store = shared(tmp_path)
    assert find_missing_problem(store, REF) is None
    write_receipts(tmp_path, LIVE)
    store.stores.state.write(build_state_key(REF), encode(LIVE), None)
    assert find_missing_problem(store, REF) is None


def test_data_of_other_records_and_empty_logs_mean_nothing(tmp_path: Path) -> None:
    store = shared(tmp_path)
    for other in (replace(REF, service="cart"), replace(REF, stage="prod")):
        write_receipts(tmp_path, replace(LIVE, ref=other))
    log(store, is_empty=True)
    assert find_missing_problem(store, REF) is None


def test_archives_of_a_directory_belong_to_all_its_records(tmp_path: Path) -> None:
    store = local(tmp_path)
    keep_archive(store, REF, ARCHIVE)
    assert find_missing_problem(store, REF) is None


def test_the_hint_is_the_first_command_that_can_work(tmp_path: Path) -> None:
    write_receipts(tmp_path, LIVE)
    for content, command in (
        ("", "run `fabric state restore --stage dev --provider cloud1-lambda --file BACKUP`"),
        ("backup", f"--file {tmp_path / BACKUP_NAME}`"),
    ):
        if content:
            kept = encode_backup(Backup("shop", "objstore1", "now", (LIVE,)))
            (tmp_path / BACKUP_NAME).write_bytes(kept)
        problem = find_missing_problem(shared(tmp_path), REF)
        assert problem
        assert command in problem.hint


def test_a_local_record_is_restored_from_its_previous_content(tmp_path: Path) -> None:
    store = local(tmp_path)
    path = find_backup_path(store, REF)
    assert path
    path.parent.mkdir(parents=True)
    path.write_bytes(encode(LIVE))
    problem = find_missing_problem(store, REF)
    assert problem
    assert f"fabric state push --stage dev --provider cloud1-lambda --file {path}" in problem.hint
    assert drop_backup(store, REF)
    assert not drop_backup(store, REF)
    assert find_missing_problem(store, REF) is None


def test_a_local_copy_of_shared_state_can_be_migrated(tmp_path: Path) -> None:
    write_receipts(tmp_path, LIVE)
    local(tmp_path).stores.state.write(build_state_key(REF), encode(LIVE), None)
    problem = find_missing_problem(shared(tmp_path), REF)
    assert problem
    assert "--from local --to objstore1" in problem.hint


def test_the_mark_of_a_deletion_is_made_and_deleted_once(tmp_path: Path) -> None:
    store = shared(tmp_path)
    for _ in range(2):
        mark_removed(store, REF)
        assert is_marked_removed(store, REF)
    for _ in range(2):
        delete_removed_mark(store, REF)
        assert not is_marked_removed(store, REF)
    assert store.stores.state.list("") == ()


def test_local_state_needs_no_mark(tmp_path: Path) -> None:
    store = local(tmp_path)
    mark_removed(store, REF)
    assert store.stores.state.read(build_removed_key(REF)) is None
    assert store.stores.state.read(build_archive_key(REF, "a")) is None
