"""Lock records for changes outside a run."""

import contextlib
from collections.abc import Iterator, Mapping

from fabric.model.records.record import RecordRef
from fabric.model.records.record_json import CorruptRecordError
from fabric.state.locks.leases import Asker, LockManager
from fabric.state.records.transaction import LockPolicy, read_record
from fabric.state.store import RecordStore


@contextlib.contextmanager
def lock_records(
    record_store: RecordStore,
    fences: Mapping[RecordRef, int],
    operation: str,
    around: LockPolicy,
) -> Iterator[Mapping[RecordRef, int]]:
    """Lock records for restore, push and remove.

    `fences` are those of the new content. Returns a fence per record above them and above every
    earlier holder: no record is ever ahead of its lock.
    """
    keeper = LockManager(record_store.stores.locks, around.me, around.clock, around.terms)
    asker = Asker(lambda _: None, around.options)
    try:
        yield {
            ref: keeper.take(
                ref, operation, max(fences[ref], _read_stored_fence(record_store, ref)), asker
            )
            for ref in sorted(fences)
        }
    finally:
        keeper.release()


def _read_stored_fence(record_store: RecordStore, ref: RecordRef) -> int:
    try:
        found = read_record(record_store, ref)
    except CorruptRecordError:
        return 0  # what cannot be read may still be replaced by a restore
    return found[0].fence if found else 0
