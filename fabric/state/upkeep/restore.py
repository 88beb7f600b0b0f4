"""Restore the records of a backup. All are checked before the first is written."""

from collections.abc import Iterable, Mapping, Sequence

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record, RecordRef
from fabric.state.records.archives import list_lost_archives
from fabric.state.records.replace import (
    Before,
    find_lineage_problem,
    make_successor,
    put,
    read_before,
)
from fabric.state.records.transaction import LockPolicy, lock_records
from fabric.state.store import RecordStore


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
    if problems:
        raise FabricError(*problems)
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
