"""Markers in a store that a record was deleted, not lost.

Other machines still have its receipts. Local-only state needs no marker.
"""

from fabric.model.records.record import RecordRef
from fabric.state.contract import MovedError, Version, build_removed_key
from fabric.state.store import RecordStore


def is_marked_removed(record_store: RecordStore, ref: RecordRef) -> bool:
    state = record_store.stores.state
    return not record_store.is_own_folder and state.read(build_removed_key(ref)) is not None


def mark_removed(record_store: RecordStore, ref: RecordRef) -> None:
    """Other machines have receipts too: from this they see that the record went as it should."""
    state = record_store.stores.state
    if not record_store.is_own_folder and state.read(build_removed_key(ref)) is None:
        _try(record_store, ref, None)


def delete_removed_mark(record_store: RecordStore, ref: RecordRef) -> None:
    """Delete the marker, because the record exists again and can be lost again."""
    state = record_store.stores.state
    stored = None if record_store.is_own_folder else state.read(build_removed_key(ref))
    if stored is not None:
        _try(record_store, ref, stored.version)


def _try(record_store: RecordStore, ref: RecordRef, version: Version | None) -> None:
    """Try a change, and accept that another process has just made the same one."""
    state = record_store.stores.state
    try:
        if version is None:
            state.write(build_removed_key(ref), b"{}\n", None)
        else:
            state.delete(build_removed_key(ref), version)
    except MovedError:
        return
