"""One record under the lock of a run: intents first, then results, then the final write."""

import threading
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.changes import (
    RecordChange,
    apply_change,
    list_intent_functions,
    settle_intent,
)
from fabric.model.records.record import Intent, Lifecycle, Mode, Record
from fabric.model.records.record_json import decode, encode
from fabric.state.contract import Backend, MovedError, Stored, Version, build_state_key
from fabric.state.locks.leases import LockLostError, LockManager
from fabric.state.records.missing import delete_removed_mark, mark_removed
from fabric.state.records.unsure import keep_unwritten
from fabric.state.records.wal import Wal, build_wal_path, discard_logs
from fabric.state.store import RecordStore
from fabric.system.clock import Clock, stamp


class FoundRecord(Struct, frozen=True):
    """A record as read under its lock."""

    record: Record
    # Its content before this run's fence and mode.
    base: Record
    # None if nothing is stored.
    version: Version | None


class LockedRecord:
    """A record under this run's lock. Thread-safe. `base` is its content before this run.

    After closing: `is_overtaken` if another process has the record, `called` are the called
    functions.
    """

    def __init__(
        self, record_store: RecordStore, keeper: LockManager, opening: FoundRecord, clock: Clock
    ) -> None:
        self._base = opening.base
        self._record_store = record_store
        self._keeper = keeper
        self._clock = clock
        self._record = opening.record
        self._version = opening.version
        self._as_found: tuple[Record | None, Record] = (None, opening.record)
        self._dirty = False
        self._intents: Sequence[Intent] = ()
        self.is_overtaken = False
        self.called: tuple[str, ...] = ()
        self._changes = threading.Lock()
        self._writes = threading.Lock()
        record = opening.record
        path = build_wal_path(record_store.home, record.ref, record.fence)
        self._wal = Wal(path, record.lineage, record.fence)

    @property
    def base(self) -> Record:
        return self._base

    @property
    def record(self) -> Record:
        with self._changes:
            return self._record

    @property
    def as_found(self) -> Record:
        """Return the deployed state without this run's intents, but with those of a dead run.

        The result is cached until the next change, because every dependent reads it.
        """
        seen, as_found = self._as_found
        record = self.record
        if seen is not record:
            as_found = replace(record, pending=self.unsettled, lifecycle=self.base.lifecycle)
            self._as_found = (record, as_found)
        return as_found

    @property
    def unsettled(self) -> tuple[Intent, ...]:
        """Return intents of an earlier run that this run has not settled."""
        left = {one.task for one in self.record.pending}
        return tuple(one for one in self.base.pending if one.task in left)

    @property
    def _backend(self) -> Backend:
        return self._record_store.stores.state

    def begin(self, lifecycle: Lifecycle, intents: Sequence[Intent]) -> None:
        """Durably record the holder and the intents before the first call.

        Raises MovedError if the record was written since it was opened. Nothing was changed then.
        """
        self._intents = intents
        with self._changes:
            self._record = replace(
                self._record,
                lifecycle=lifecycle,
                pending=_merge_intents(self._record.pending, intents),
            )
        # Whoever is late must not write over the one who holds it by now.
        self._keeper.confirm(self.base.ref)
        is_new = self._version is None
        self._write_first()
        if is_new:
            delete_removed_mark(self._record_store, self.base.ref)
        # The log of an earlier run is part of what was written.
        discard_logs(self._record_store.home, self.base.ref, self.record.fence)
        self._wal.begin()
        self._keeper.confirm(self.base.ref)

    def require_lock(self) -> None:
        """Raise if the lock can have expired. Call this before each API call."""
        self._keeper.require(self.base.ref)

    def add(self, *entries: RecordChange, durable: bool = True) -> None:
        """Add results. They are on the local disk on return, and in the backend within a second.

        Simulated results survive a kill, but not always a power failure, because they can be
        repeated.
        """
        with self._changes:
            for entry in entries:
                self._record = settle_intent(apply_change(self._record, entry), entry.task)
            self._dirty = True
        self._wal.append(*entries, durable=durable and self.record.mode is not Mode.SIMULATED)

    def flush(self) -> None:
        """Write new results to the backend. An unreachable backend is retried later."""
        with self._changes:
            dirty, self._dirty = self._dirty, False
        if not dirty:
            return
        try:
            self._write()
        except FabricError:
            with self._changes:
                self._dirty = True

    def close(self, final: Record | None) -> None:
        """Write the final record; None deletes it. A failed write is stored locally."""
        self.called = self._list_called_functions()
        with self._changes:
            self._record = final or self._record
        try:
            if final is None:
                self._delete_record()
            else:
                self._write()
        except LockLostError:
            self.is_overtaken = True
            raise
        except FabricError as error:
            raise keep_unwritten(self._record_store.home, self.record, error) from error
        finally:
            self._wal.close()
        discard_logs(self._record_store.home, self.base.ref, self.record.fence)

    def _list_called_functions(self) -> tuple[str, ...]:
        """List the functions whose API call has ended."""
        left = {one.task for one in self.record.pending}
        ended = [one for one in self._intents if one.task not in left]
        return tuple(
            sorted({name for one in ended for name in list_intent_functions(self.base, one)})
        )

    def abandon(self) -> None:
        """Stop and leave everything on disk, so that the next run continues from there."""
        self._wal.close()

    def _write(self) -> None:
        try:
            self._write_first()
        except MovedError as error:
            self._keeper.forsake(self.base.ref)
            raise LockLostError(self.base.ref) from error

    def _write_first(self) -> None:
        """Write the record under the next serial, unless another process wrote in the meantime."""
        with self._writes:
            record = replace(self.record, updated_at=self.record.updated_at or stamp(self._clock))
            record = replace(record, serial=record.serial + 1)
            self._version = self._put(record)
            with self._changes:
                self._record = replace(self._record, serial=record.serial)

    def _put(self, record: Record) -> Version:
        """Write the record. After a lost reply, the stored content shows whose write succeeded."""
        key, content = build_state_key(record.ref), encode(record)
        try:
            return self._backend.write(key, content, self._version)
        except MovedError:
            stored = self._backend.read(key)
            if stored is None or not _is_ours(stored, record):
                raise
            return self._backend.write(key, content, stored.version)

    def _delete_record(self) -> None:
        with self._writes:
            if self._version is None:
                return
            self._keeper.require(self.base.ref)
            mark_removed(self._record_store, self.base.ref)
            if self._record_store.is_own_folder:
                # There is no mark then: a log that outlives its record tells of a lost one.
                discard_logs(self._record_store.home, self.base.ref, self.record.fence)
            try:
                self._backend.delete(build_state_key(self.base.ref), self._version)
            except MovedError as error:
                raise LockLostError(self.base.ref) from error
            self._version = None


def _is_ours(stored: Stored, record: Record) -> bool:
    """A fence belongs to one holder only."""
    try:
        found = decode(stored.content, "")
    except FabricError:
        return False
    ours = (record.lineage, record.fence)
    return (found.lineage, found.fence) == ours and found.serial <= record.serial


def _merge_intents(old: Sequence[Intent], new: Sequence[Intent]) -> tuple[Intent, ...]:
    """Merge intents. Those of an earlier run stay until their outcome is known, one per task."""
    named = {one.task for one in new}
    return (*(one for one in old if one.task not in named), *new)
