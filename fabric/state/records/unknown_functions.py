"""Record unknown functions after a lock was lost during API calls."""

from collections.abc import Sequence

from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.state.records.locked_record import LockedRecord
from fabric.state.records.replace import make_successor, put, read_before
from fabric.state.records.transaction import LockPolicy, lock_records
from fabric.state.records.unsure import drop_note, keep_note, mark_unknown, read_unsure_names
from fabric.state.records.wal import build_wal_path, read_log, replay_log
from fabric.state.store import RecordStore


def record_unknown_functions(
    record_store: RecordStore, locked_record: LockedRecord, around: LockPolicy
) -> None:
    """Write a local note first, then update the record under a new lock."""
    ref, names = locked_record.base.ref, locked_record.called
    if not names or locked_record.record.mode is Mode.SIMULATED:
        return
    keep_note(record_store.home, ref, names)
    # Whoever has taken the lock over is still at work, or done in a moment.
    patient = replace(around, terms=replace(around.terms, wait=around.terms.lease))
    try:
        with lock_records(record_store, {ref: 0}, "deploy", patient) as fences:
            _tell(record_store, ref, fences[ref])
    except FabricError as error:
        raise FabricError(_local_only_problem(ref, names)) from error


def _tell(record_store: RecordStore, ref: RecordRef, fence: int) -> None:
    before, names = read_before(record_store, ref), read_unsure_names(record_store.home, ref)
    if before.record is None:
        return
    # What a run on this machine had learned goes with it: its log is void under a new fence.
    known = replay_log(
        before.record, read_log(build_wal_path(record_store.home, ref, before.record.fence))
    )
    put(record_store, make_successor(mark_unknown(known, names), before, fence), before)
    drop_note(record_store.home, ref, names)


def _local_only_problem(ref: RecordRef, names: Sequence[str]) -> Problem:
    return Problem(
        "state/unknown-here",
        f"the deployed version of {', '.join(names)} of {ref.title} is unknown, and the "
        "state does not show this yet",
        hint="on this machine, run: fabric deploy",
    )
