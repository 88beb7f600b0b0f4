"""The records of a run: read without a lock, claimed together, and written at the end."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem, WithheldError
from fabric.model.records.changes import FunctionDone
from fabric.model.records.record import Intent, Lifecycle, Mode, Operation, Record, RecordRef
from fabric.model.records.record_json import CorruptRecordError, decode, encode
from fabric.state.contract import Version, build_state_key, lock_key
from fabric.state.locks.document import decode_lock
from fabric.state.locks.leases import Terms
from fabric.state.records.locked_record import LockedRecord
from fabric.state.records.transaction import (
    Claim,
    LockPolicy,
    RecordTransaction,
    lock_records,
    read_record,
    read_unlocked,
)
from fabric.state.records.unsure import keep_note, keep_unwritten, read_unsure_names
from fabric.state.store import BackEndPair, RecordStore
from fabric.system.process.process_identity import Process
from tests.state.locks.test_leases import HandClock
from tests.support.memory_backend import MemoryBackend
from tests.support.records import function, record

LIVE = record(mode=Mode.REAL)
REF = LIVE.ref
OTHER = replace(LIVE, ref=replace(REF, service="cart"))
ME = Process("me", "host-1", 1)
POLICY = LockPolicy(ME, HandClock(), Terms(60.0))
TASK = "deploy:shop/hello@cloud1-lambda"


def claim(ref: RecordRef = REF, refused: Problem | None = None) -> Claim:
    intent = Intent(TASK, Operation.DEPLOY, "hello")
    return Claim(
        ref, "deploy", Mode.REAL, "cloud1-lambda", "eu-west-1", (intent,), lambda _: refused
    )


def store_of(home: Path, backend: MemoryBackend) -> RecordStore:
    return RecordStore(home, BackEndPair(backend, backend))


def transaction(home: Path, backend: MemoryBackend, *refs: RecordRef) -> RecordTransaction:
    store = store_of(home, backend)
    return RecordTransaction(dict.fromkeys(refs or (REF,), store), POLICY)


def backend_of(*records: Record) -> MemoryBackend:
    found = MemoryBackend()
    for one in records:
        found.put(one)
    return found


def stored(backend: MemoryBackend, ref: RecordRef = REF) -> Record:
    return decode(backend.keys[build_state_key(ref)], "here")


def ended(locked: LockedRecord) -> Record:
    return replace(locked.record, lifecycle=Lifecycle.DEPLOYED, pending=())


def test_a_read_takes_no_lock_and_is_made_once(tmp_path: Path) -> None:
    backend = backend_of(LIVE)
    found = transaction(tmp_path, backend)
    assert found.record(REF) == LIVE
    backend.keys.clear()
    assert found.record(REF) == LIVE
    assert found.locked_records == ()


def test_a_stub_of_a_holder_that_died_is_no_record(tmp_path: Path) -> None:
    stub = Record(REF, "cloud1-lambda", "line", "salt", fence=2)
    store = store_of(tmp_path, backend_of(stub))
    assert read_unlocked(store, REF) is None
    assert read_record(store, REF)


def test_a_record_of_another_key_is_rejected(tmp_path: Path) -> None:
    backend = MemoryBackend(keys={build_state_key(REF): encode(OTHER)})
    with pytest.raises(CorruptRecordError):
        transaction(tmp_path, backend).record(REF)


def test_the_first_locked_record_locks_all_claimed_ones(tmp_path: Path) -> None:
    backend = backend_of(LIVE, OTHER)
    found = transaction(tmp_path, backend, REF, OTHER.ref)
    found.expect([claim(), claim(OTHER.ref)])
    found.lock_record(REF)
    assert [one.base.ref.service for one in found.locked_records] == ["cart", "shop"]
    assert all(decode_lock(backend.keys[lock_key(ref)]) for ref in (REF, OTHER.ref))
    now = stored(backend)
    assert (now.fence, now.lifecycle, now.region) == (4, Lifecycle.DEPLOYING, "eu-west-1")
    assert [one.task for one in now.pending] == [TASK]
    found.abandon()


def test_a_run_sees_its_own_results_without_its_planned_calls(tmp_path: Path) -> None:
    found = transaction(tmp_path, backend_of(LIVE))
    found.expect([claim()])
    locked = found.lock_record(REF)
    locked.add(FunctionDone(TASK, function(key="new")))
    now = found.record(REF)
    assert now
    assert (now.functions[0].key, now.pending, now.lifecycle) == ("new", (), Lifecycle.DEPLOYED)
    before = found.base(REF)
    assert before
    assert before.functions == LIVE.functions
    found.abandon()


def test_results_are_written_at_the_end_and_the_lock_is_free(tmp_path: Path) -> None:
    backend = backend_of(LIVE)
    found = transaction(tmp_path, backend)
    found.expect([claim()])
    found.lock_record(REF).add(FunctionDone(TASK, function(key="new")))
    assert found.close(ended) == ()
    now = stored(backend)
    assert (now.functions[0].key, now.serial > LIVE.serial) == ("new", True)
    assert decode_lock(backend.keys[lock_key(REF)]) is None


def test_results_of_a_killed_run_are_read_on_this_machine(tmp_path: Path) -> None:
    backend = backend_of(LIVE)
    found = transaction(tmp_path, backend)
    found.expect([claim()])
    found.lock_record(REF).add(FunctionDone(TASK, function(key="new")))
    found.abandon()
    assert stored(backend).functions[0].key == "k"
    here = read_unlocked(store_of(tmp_path, backend), REF)
    elsewhere = read_unlocked(store_of(tmp_path / "other", backend), REF)
    assert here
    assert elsewhere
    assert (here.functions[0].key, here.pending) == ("new", ())
    assert (elsewhere.functions[0].key, len(elsewhere.pending)) == ("k", 1)


def test_functions_of_a_planned_call_without_a_result_are_unknown(tmp_path: Path) -> None:
    died = replace(LIVE, pending=(Intent(TASK, Operation.DEPLOY, "hello"),))
    found = transaction(tmp_path, backend_of(died)).record(REF)
    assert found
    assert found.functions[0].key == ""


def test_a_refused_record_leaves_all_records_unchanged(tmp_path: Path) -> None:
    backend = backend_of(LIVE, OTHER)
    found = transaction(tmp_path, backend, REF, OTHER.ref)
    problem = Problem("deploy/mode-mismatch", "no")
    found.expect([claim(OTHER.ref), claim(refused=problem)])
    with pytest.raises(WithheldError) as first:
        found.lock_record(REF)
    with pytest.raises(WithheldError) as second:
        found.lock_record(OTHER.ref)
    assert first.value.problems == second.value.problems == (problem,)
    assert (first.value.is_told, second.value.is_told) == (False, True)
    assert (stored(backend), stored(backend, OTHER.ref)) == (LIVE, OTHER)
    assert all(decode_lock(backend.keys[lock_key(ref)]) is None for ref in (REF, OTHER.ref))


class OvertakenBackend(MemoryBackend):
    """Another holder writes just after the lock was taken."""

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        version = super().write(key, content, expected)
        if key == lock_key(REF):
            self.put(replace(LIVE, fence=99))
        return version


def test_a_record_with_a_later_fence_is_not_changed(tmp_path: Path) -> None:
    backend = OvertakenBackend()
    found = transaction(tmp_path, backend)
    found.expect([claim()])
    with pytest.raises(WithheldError) as caught:
        found.lock_record(REF)
    assert caught.value.first.code == "state/lock-lost"
    assert stored(backend) == replace(LIVE, fence=99)


def test_an_unwritten_record_blocks_a_run(tmp_path: Path) -> None:
    keep_unwritten(tmp_path, LIVE, FabricError(Problem("backend/unreachable", "")))
    found = transaction(tmp_path, backend_of(LIVE))
    found.expect([claim()])
    with pytest.raises(WithheldError) as caught:
        found.lock_record(REF)
    assert caught.value.first.code == "state/errored"


def test_a_note_is_deleted_once_the_record_contains_it(tmp_path: Path) -> None:
    keep_note(tmp_path, REF, ["hello"])
    backend = backend_of(LIVE)
    found = transaction(tmp_path, backend)
    found.expect([claim()])
    found.lock_record(REF)
    assert read_unsure_names(tmp_path, REF) == ()
    assert stored(backend).functions[0].key == ""
    found.abandon()


def test_a_record_that_was_not_planned_cannot_be_locked(tmp_path: Path) -> None:
    found = transaction(tmp_path, backend_of(LIVE, OTHER), REF, OTHER.ref)
    found.expect([claim()])
    with pytest.raises(FabricError) as caught:
        found.lock_record(OTHER.ref)
    assert caught.value.first.code == "run/moved"
    found.abandon()


def test_a_restore_has_a_fence_above_all_earlier_ones(tmp_path: Path) -> None:
    backend = backend_of(LIVE, OTHER)
    store = store_of(tmp_path, backend)
    with lock_records(store, {REF: 0, OTHER.ref: 9}, "restore", POLICY) as fences:
        assert fences == {REF: LIVE.fence + 1, OTHER.ref: 10}
    with lock_records(store, {OTHER.ref: 0}, "restore", POLICY) as fences:
        assert fences[OTHER.ref] == 11


def test_unreadable_state_can_be_replaced_by_a_restore(tmp_path: Path) -> None:
    backend = MemoryBackend(keys={build_state_key(REF): b"{}"})
    with lock_records(store_of(tmp_path, backend), {REF: 3}, "restore", POLICY) as fences:
        assert fences == {REF: 4}
