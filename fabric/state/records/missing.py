"""A missing record that other data mentions is lost, as opposed to one that never existed."""

from collections.abc import Iterator
from pathlib import Path

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.receipt import is_receipt_for, list_receipt_entries
from fabric.model.records.record import RecordRef
from fabric.model.records.record_json import decode
from fabric.state.backends.failures import NOTHING
from fabric.state.contract import (
    MovedError,
    Version,
    build_archive_prefix,
    build_removed_key,
    build_state_key,
)
from fabric.state.locks.document import record_options
from fabric.state.locks.leases import Options
from fabric.state.records.backup import decode_backup
from fabric.state.records.receipts import build_receipt_path, deploy_record_path, read_document
from fabric.state.records.unsure import build_unsure_path
from fabric.state.records.wal import build_wal_folder, read_log
from fabric.state.store import RecordStore
from fabric.system.files.disk import read_bytes, remove

BACKUP_NAME = "state-backup.json"
_ARCHIVE = ".zip"


def find_missing_problem(
    record_store: RecordStore, ref: RecordRef, options: Options = record_options
) -> Problem | None:
    """Return why a missing record should exist. Call this after a search without result."""
    if record_store.stores.state.kind == NOTHING or _is_there(record_store, ref):
        return None
    found = tuple(_list_witnesses(record_store, ref))
    if not found or is_marked_removed(record_store, ref):
        return None
    return Problem(
        "state/missing",
        f"the state of {ref.title} is missing in `{record_store.stores.state.place}`, "
        f"but is still referenced by {', '.join(found)}",
        hint=f"{_suggest_recovery(record_store, ref, options(ref))}, or continue without it: "
        f"`fabric state rm {options(ref)}` (cloud resources stay)",
        where=Place(f"{record_store.stores.state.place}/{build_state_key(ref)}"),
    )


def find_backup_path(record_store: RecordStore, ref: RecordRef) -> Path | None:
    """Return where local state stores the record's previous content."""
    state = record_store.stores.state
    return Path(f"{state.place}/{build_state_key(ref)}.bak") if record_store.is_own_folder else None


def drop_backup(record_store: RecordStore, ref: RecordRef) -> bool:
    """Delete the backup. Returns whether there was one."""
    path = find_backup_path(record_store, ref)
    if path is None or not path.exists():
        return False
    remove(path)
    return True


def _is_there(record_store: RecordStore, ref: RecordRef) -> bool:
    return record_store.stores.state.read(build_state_key(ref)) is not None


def _list_witnesses(record_store: RecordStore, ref: RecordRef) -> Iterator[str]:
    home = record_store.home
    receipt, backup = build_receipt_path(home, ref.stage), find_backup_path(record_store, ref)
    told = list_receipt_entries(read_document(receipt))
    if any(
        (one.get("service"), one.get("provider")) == (ref.service, ref.provider) for one in told
    ):
        yield f"the receipt `{receipt}`"
    last = deploy_record_path(home, ref.provider)
    if is_receipt_for(read_document(last), ref):
        yield f"the deploy record `{last}`"
    if backup is not None and backup.exists():
        yield f"the backup `{backup}`"
    for log in sorted(build_wal_folder(home, ref).glob("*.log")):
        found = read_log(log)
        if found is not None and found.entries:
            yield f"the log `{log}`"
    if build_unsure_path(home, ref).exists():
        yield f"`{build_unsure_path(home, ref)}`"
    yield from _list_stored_archives(record_store, ref)


def _list_stored_archives(record_store: RecordStore, ref: RecordRef) -> Iterator[str]:
    state = record_store.stores.state
    if record_store.is_own_folder:
        return  # archives of all records of a folder lie together, under their digests
    count = sum(key.endswith(_ARCHIVE) for key in state.list(build_archive_prefix(ref)))
    if count:
        yield f"{count} archives in `{state.place}/{build_archive_prefix(ref)}`"


def _suggest_recovery(record_store: RecordStore, ref: RecordRef, options: str) -> str:
    """Suggest the first recovery command whose requirements are met."""
    backup, kept = find_backup_path(record_store, ref), record_store.home / BACKUP_NAME
    if backup is not None and _is_record(backup, ref):
        push = f"fabric state push {options} --file {backup}"
        return f"run `{push}`"
    if _is_backed_up(kept, ref):
        return f"run `fabric state restore {options} --file {kept}`"
    elsewhere = record_store.home / "state" / build_state_key(ref)
    if not record_store.is_own_folder and _is_record(elsewhere, ref):
        kind = record_store.stores.state.kind
        return f"run `fabric state migrate {options} --from local --to {kind}`"
    return f"run `fabric state restore {options} --file BACKUP`"


def _is_record(path: Path, ref: RecordRef) -> bool:
    try:
        return decode(read_bytes(path), str(path)).ref == ref
    except (OSError, FabricError):
        return False


def _is_backed_up(path: Path, ref: RecordRef) -> bool:
    try:
        return any(one.ref == ref for one in decode_backup(read_bytes(path), str(path)).records)
    except (OSError, FabricError):
        return False


# Markers in a store that a record was deleted, not lost.
# Other machines still have its receipts. Local-only state needs no marker.


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
