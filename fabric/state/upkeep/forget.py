"""Remove a record from state without an API call. Its resources can still exist."""

from fabric.model.records.record import RecordRef
from fabric.state.contract import MovedError, build_state_key
from fabric.state.locks.leases import LockLostError
from fabric.state.records.missing import drop_backup
from fabric.state.records.receipts import drop_receipts
from fabric.state.records.removed import mark_removed
from fabric.state.records.replace import read_before, refuse_late
from fabric.state.records.transaction import LockPolicy
from fabric.state.records.under_lock import lock_records
from fabric.state.records.unsure import drop_note, read_unsure_names
from fabric.state.records.unwritten import build_unwritten_path
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
