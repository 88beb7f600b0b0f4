"""Manual changes to the state: remove a record, remove a lock, restore a backup."""

from collections.abc import Iterable, Mapping, Sequence

from fabric.model.problems import FabricError, Problem, raise_if_any
from fabric.model.records.record import Record, RecordRef
from fabric.state.contract import Backend, MovedError, build_state_key, lock_key
from fabric.state.locks.document import LockHolder, decode_lock, encode_free
from fabric.state.locks.leases import LockLostError
from fabric.state.records.archives import list_lost_archives
from fabric.state.records.missing import drop_backup, mark_removed
from fabric.state.records.receipts import drop_receipts
from fabric.state.records.replace import (
    Before,
    find_lineage_problem,
    make_successor,
    put,
    read_before,
    refuse_late,
)
from fabric.state.records.transaction import LockPolicy, lock_records
from fabric.state.records.unsure import build_unwritten_path, drop_note, read_unsure_names
from fabric.state.records.wal import discard_logs
from fabric.state.store import RecordStore
from fabric.system.files.disk import remove, remove_empty_folders


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


def refuse_other_lineages(record_store: RecordStore, records: Iterable[Record]) -> None:
    """Raise for all records with another lineage than the stored ones."""
    _read_earlier_records(record_store, records)


def restore(
    record_store: RecordStore, records: Sequence[Record], around: LockPolicy
) -> tuple[tuple[Record, ...], tuple[Problem, ...]]:
    """Restore under all locks. Returns the stored records and warnings."""
    known = {one.ref: one.fence for one in records}
    with lock_records(record_store, known, "restore", around) as fences:
        earlier = _read_earlier_records(record_store, records)
        # The newest last: the deploy record of a provider tells of its last deploy.
        ordered = sorted(records, key=lambda one: (one.updated_at, one.ref))
        new = [make_successor(one, earlier[one.ref], fences[one.ref]) for one in ordered]
        done: list[Record] = []
        for record in new:
            try:
                put(record_store, record, earlier[record.ref])
            except FabricError as error:
                raise FabricError(
                    _incomplete_restore_problem(done, new), *error.problems
                ) from error
            done.append(record)
    return tuple(done), tuple(_find_lost_archives(record_store, done))


def _read_earlier_records(
    record_store: RecordStore, records: Iterable[Record]
) -> Mapping[RecordRef, Before]:
    earlier: dict[RecordRef, Before] = {}
    problems: list[Problem] = []
    for record in records:
        earlier[record.ref] = read_before(record_store, record.ref)
        problem = find_lineage_problem(record, earlier[record.ref])
        problems += [problem] if problem else []
    raise_if_any(problems)
    return earlier


def _incomplete_restore_problem(done: Sequence[Record], new: Sequence[Record]) -> Problem:
    left = ", ".join(one.ref.title for one in new[len(done) :])
    return Problem(
        "state/restore-incomplete",
        f"restored {len(done)} of {len(new)} records, not restored: {left}",
        hint="fix the cause, then run the command again",
    )


def _find_lost_archives(record_store: RecordStore, records: Iterable[Record]) -> Iterable[Problem]:
    for record in records:
        lost = list_lost_archives(record_store, record)
        if lost:
            yield Problem(
                "state/archive-missing",
                f"{len(lost)} archives of {record.ref.title} are missing: a rollback requires them",
                hint="run: fabric deploy --force, to store archives of the current version",
            )
