"""Remove a record from state without an API call. Its resources can still exist."""

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import RecordRef
from fabric.state.contract import Backend, MovedError, build_state_key, lock_key
from fabric.state.locks.document import LockHolder, decode_lock, encode_free
from fabric.state.locks.leases import LockLostError
from fabric.state.records.missing import drop_backup, mark_removed
from fabric.state.records.receipts import drop_receipts
from fabric.state.records.replace import read_before, refuse_late
from fabric.state.records.transaction import LockPolicy, lock_records
from fabric.state.records.unsure import build_unwritten_path, drop_note, read_unsure_names
from fabric.state.records.wal import discard_logs
from fabric.state.store import RecordStore
from fabric.system.disk import remove, remove_empty_folders


def forget(record_store: RecordStore, ref: RecordRef, around: LockPolicy) -> bool:
    """Remove the record and local files. Returns whether there was a record.

    Archives stay, because a backup that is restored later can need them.
    """
    with lock_records(record_store, {ref: 0}, "state rm", around) as fences:
        before = read_before(record_store, ref)
        refuse_late(ref, before, fences[ref])
        mark_removed(record_store, ref)
        if before.version is not None:
            try:
                record_store.stores.state.delete(build_state_key(ref), before.version)
            except MovedError as error:
                raise LockLostError(ref) from error
        had_backup = drop_backup(record_store, ref)
        drop_receipts(record_store.home, ref)
        discard_logs(record_store.home, ref, fences[ref])
        drop_note(record_store.home, ref, read_unsure_names(record_store.home, ref))
        remove(build_unwritten_path(record_store.home, ref))
        remove_empty_folders(build_unwritten_path(record_store.home, ref).parent, record_store.home)
    return before.version is not None or had_backup


# A beat may come between the look and the write, hardly twice in a row.
_TRIES = 5


def unlock(locks: Backend, ref: RecordRef, holder: LockHolder) -> None:
    """Free this holder's lock. A lock that another process took meanwhile stays."""
    for _ in range(_TRIES):
        stored = locks.read(lock_key(ref))
        found = decode_lock(stored.content) if stored else None
        if stored is None or found is None or found.id != holder.id:
            return
        try:
            locks.write(lock_key(ref), encode_free(found.fence), stored.version)
        except MovedError:
            continue
    raise FabricError(
        Problem(
            "lock/held",
            f"the lock of {ref.title} cannot be removed: its process is using it",
            hint=f"stop process {holder.process.pid} on {holder.process.host} first",
        )
    )
