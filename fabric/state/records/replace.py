"""A record from elsewhere in the place of the stored one: a restore, or a push."""

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import Problem
from fabric.model.records.record import Record, RecordRef
from fabric.model.records.record_json import CorruptRecordError, decode_at, encode
from fabric.state.contract import MovedError, Version, build_state_key
from fabric.state.locks.leases import LockLostError
from fabric.state.records.missing import delete_removed_mark
from fabric.state.records.receipts import write_receipts
from fabric.state.records.wal import discard_logs
from fabric.state.store import RecordStore


class Before(Struct, frozen=True):
    """The existing content in place of a record: nothing, a record, or unreadable data."""

    record: Record | None
    version: Version | None


def read_before(record_store: RecordStore, ref: RecordRef) -> Before:
    stored = record_store.stores.state.read(build_state_key(ref))
    if stored is None:
        return Before(None, None)
    try:
        record = decode_at(
            stored.content, f"{record_store.stores.state.place}/{build_state_key(ref)}", ref
        )
    except CorruptRecordError:
        # What is broken may be replaced; state of a newer fabric may not.
        return Before(None, stored.version)
    return Before(record, stored.version)


def find_lineage_problem(record: Record, before: Before) -> Problem | None:
    """Return why a record has another lineage than the stored one. A stub without deploys always
    matches."""
    if before.record is None or before.record.is_stub:
        return None
    if before.record.lineage == record.lineage:
        return None
    return Problem(
        "state/lineage",
        f"the state of {record.ref.title} belongs to another deployment: "
        f"lineage {record.lineage[:8]}, expected {before.record.lineage[:8]}",
        hint="run: fabric state rm, to remove the stored state first",
    )


def find_serial_problem(record: Record, before: Before) -> Problem | None:
    """Return why a record is older than the stored one."""
    if before.record is None or record.serial >= before.record.serial:
        return None
    return Problem(
        "state/serial",
        f"the state of {record.ref.title} has serial {record.serial}, but the stored state is "
        f"newer: {before.record.serial}",
        hint="use --force to overwrite the newer state",
    )


def refuse_late(ref: RecordRef, before: Before, fence: int) -> None:
    """Raise if another process took the lock later and wrote. Fences only grow."""
    if before.record is not None and before.record.fence >= fence:
        raise LockLostError(ref)


def make_successor(record: Record, before: Before, fence: int) -> Record:
    """Return the record with higher serial and fence than before, whatever its source."""
    refuse_late(record.ref, before, fence)
    stored = before.record.serial if before.record else 0
    return replace(record, serial=max(record.serial, stored) + 1, fence=fence)


def put(record_store: RecordStore, record: Record, before: Before) -> None:
    """Store the record under its lock, and update this machine's files."""
    try:
        record_store.stores.state.write(build_state_key(record.ref), encode(record), before.version)
    except MovedError as error:
        raise LockLostError(record.ref) from error
    if before.version is None:
        delete_removed_mark(record_store, record.ref)
    discard_logs(record_store.home, record.ref, record.fence)
    if record.functions or record.deployment_id:
        write_receipts(record_store.home, record)
