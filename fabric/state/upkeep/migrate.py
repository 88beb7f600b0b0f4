"""Copy all records and archives to another store, then read back and compare."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from fabric.model.problems import FabricError, Problem, raise_if_any
from fabric.model.records.record import Record, RecordRef
from fabric.state.contract import MovedError, Version, build_state_key, build_traces_key
from fabric.state.locks.leases import LockLostError
from fabric.state.records.archives import ArchiveMissingError, copy_archive, list_archives
from fabric.state.records.replace import Before, find_lineage_problem, read_before, refuse_late
from fabric.state.records.transaction import LockPolicy, lock_records, read_record
from fabric.state.store import RecordStore


class Move(Struct, frozen=True):
    """One record: its stored form, and the existing content in the target."""

    record: Record
    content: bytes
    version: Version | None


class Migrated(Struct, frozen=True):
    records: tuple[Record, ...]
    archives: int
    warnings: tuple[Problem, ...]


def migrate(
    source: RecordStore, target: RecordStore, refs: Sequence[RecordRef], around: LockPolicy
) -> Migrated:
    """Migrate under the locks of both stores. The source stays unchanged, and nothing newer is
    overwritten."""
    with (
        lock_records(source, dict.fromkeys(refs, 0), "migrate", around) as fences,
        lock_records(target, fences, "migrate", around) as beyond,
    ):
        moves = _plan_moves(source, target, beyond)
        archives, warnings = _copy_archives(source, target, moves)
        for move in moves:
            _copy(target, move)
            _copy_traces(source, target, move.record.ref)
        return Migrated(tuple(move.record for move in moves), archives, warnings)


def _plan_moves(
    source: RecordStore, target: RecordStore, fences: Mapping[RecordRef, int]
) -> tuple[Move, ...]:
    moves: list[Move] = []
    problems: list[Problem] = []
    for ref in sorted(fences):
        found = read_record(source, ref)
        if found is None:
            continue
        record, stored = found
        before = read_before(target, ref)
        refuse_late(ref, before, fences[ref])
        move, problem = _move(target, record, stored.content, before)
        moves.append(move)
        problems += [problem] if problem else []
    raise_if_any(problems)
    return tuple(moves)


def _move(
    target: RecordStore, record: Record, content: bytes, before: Before
) -> tuple[Move, Problem | None]:
    problem = find_lineage_problem(record, before)
    if problem is None and _is_ahead(before.record, record):
        problem = _newer_target_problem(record, target.stores.state.place)
    return Move(record, content, before.version), problem


def _is_ahead(there: Record | None, record: Record) -> bool:
    if there is None or there.lineage != record.lineage:
        return False
    return there.serial >= record.serial and there != record


def _newer_target_problem(record: Record, place: str) -> Problem:
    return Problem(
        "state/serial",
        f"the state of {record.ref.title} in `{place}` is not older than the source",
        hint="compare both with `fabric state show --backend KIND`, then remove one: "
        "fabric state rm",
    )


def _copy_archives(
    source: RecordStore, target: RecordStore, moves: Iterable[Move]
) -> tuple[int, tuple[Problem, ...]]:
    """Copy the archives before the records, so that no record names a missing archive."""
    count = 0
    warnings: list[Problem] = []
    for move in moves:
        for sha256 in sorted(list_archives(move.record)):
            try:
                copy_archive(source, target, move.record.ref, sha256)
            except ArchiveMissingError as error:
                warnings += error.problems
            else:
                count += 1
    return count, tuple(warnings)


def _copy_traces(source: RecordStore, target: RecordStore, ref: RecordRef) -> None:
    """Copy the build traces. Without them other machines only rebuild."""
    found = source.stores.state.read(build_traces_key(ref))
    if found is None:
        return
    before = target.stores.state.read(build_traces_key(ref))
    with contextlib.suppress(MovedError):
        target.stores.state.write(
            build_traces_key(ref), found.content, before.version if before else None
        )


def _copy(target: RecordStore, move: Move) -> None:
    ref, backend = move.record.ref, target.stores.state
    try:
        backend.write(build_state_key(ref), move.content, move.version)
    except MovedError as error:
        raise LockLostError(ref) from error
    copied = backend.read(build_state_key(ref))
    if copied is None or copied.content != move.content:
        message = f"`{backend.place}` returned a different state of {ref.title}"
        raise FabricError(
            Problem(
                "state/not-copied", message, hint="run the command again: the source is unchanged"
            )
        )
