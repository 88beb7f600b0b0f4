"""Read many records at once. An unreadable record is reported as a problem."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record, RecordRef
from fabric.state.contract import lock_key, parse_record_key
from fabric.state.locks.document import LockHolder, decode_lock
from fabric.state.records.transaction import read_unlocked
from fabric.state.store import RecordStore


class RecordListing(Struct, frozen=True):
    """`refs` are all records in the store. `records` are the readable ones with a deploy."""

    refs: tuple[RecordRef, ...]
    records: Mapping[RecordRef, Record]
    problems: tuple[Problem, ...] = ()

    def require_complete(self) -> Mapping[RecordRef, Record]:
        """The records, where every one of them could be read."""
        if self.problems:
            raise FabricError(*self.problems)
        return self.records


def list_record_refs(
    record_store: RecordStore, service: str = "", stage: str = "", provider: str = ""
) -> tuple[RecordRef, ...]:
    """List the records in a backend. An empty filter matches all."""
    prefix = f"{service}/" + (f"{stage}/" if stage else "") if service else ""
    refs = (parse_record_key(key) for key in record_store.stores.state.list(prefix))
    return tuple(
        ref for ref in refs if ref and stage in ("", ref.stage) and provider in ("", ref.provider)
    )


def list_records_in(record_store: RecordStore, refs: Iterable[RecordRef]) -> RecordListing:
    """List the records without a lock or a write. An unreachable backend raises."""
    refs = tuple(refs)
    records: dict[RecordRef, Record] = {}
    problems: list[Problem] = []
    for ref in refs:
        try:
            record = read_unlocked(record_store, ref)
        except FabricError as error:
            if not error.first.code.startswith("state/"):
                raise
            problems += error.problems
        else:
            records |= {ref: record} if record else {}
    return RecordListing(refs, records, tuple(problems))


def read_lock_holder(record_store: RecordStore, ref: RecordRef) -> LockHolder | None:
    """Read the current lock holder of a record."""
    stored = record_store.stores.locks.read(lock_key(ref))
    return decode_lock(stored.content) if stored else None
