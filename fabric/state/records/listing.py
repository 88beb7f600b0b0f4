"""Many records at once, as they can be read now: one that cannot be is a problem, not the end."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record, RecordRef
from fabric.state.contract import lock_key, ref_of
from fabric.state.locks.document import LockHolder, decode_lock
from fabric.state.records.transaction import peek
from fabric.state.store import RecordStore


class RecordListing(Struct, frozen=True):
    """`refs` are all that lie there; `records` those that can be read and were ever deployed."""

    refs: tuple[RecordRef, ...]
    records: Mapping[RecordRef, Record]
    problems: tuple[Problem, ...] = ()

    def required(self) -> Mapping[RecordRef, Record]:
        """The records, where every one of them could be read."""
        if self.problems:
            raise FabricError(*self.problems)
        return self.records


def refs_in(
    record_store: RecordStore, service: str = "", stage: str = "", provider: str = ""
) -> tuple[RecordRef, ...]:
    """The records that lie in a back end; an empty word stands for all."""
    prefix = f"{service}/" + (f"{stage}/" if stage else "") if service else ""
    refs = (ref_of(key) for key in record_store.stores.state.list(prefix))
    return tuple(
        ref for ref in refs if ref and stage in ("", ref.stage) and provider in ("", ref.provider)
    )


def list_records_in(record_store: RecordStore, refs: Iterable[RecordRef]) -> RecordListing:
    """Takes no lock, writes nothing. A back end that cannot be reached is the end after all."""
    refs = tuple(refs)
    records: dict[RecordRef, Record] = {}
    problems: list[Problem] = []
    for ref in refs:
        try:
            record = peek(record_store, ref)
        except FabricError as error:
            if not error.first.code.startswith("state/"):
                raise
            problems += error.problems
        else:
            records |= {ref: record} if record else {}
    return RecordListing(refs, records, tuple(problems))


def holder_of(record_store: RecordStore, ref: RecordRef) -> LockHolder | None:
    """Who holds the lock of a record now."""
    stored = record_store.stores.locks.read(lock_key(ref))
    return decode_lock(stored.content) if stored else None
