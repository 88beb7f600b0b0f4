"""All records of one run: read without a lock, then claimed together before the first change."""

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.backends import back_end_facts
from fabric.model.problems import FabricError, Problem, StoppedError, WithheldError
from fabric.model.records.changes import mark_intents_unknown
from fabric.model.records.record import (
    Intent,
    Lifecycle,
    Mode,
    Origin,
    PreviewStage,
    Record,
    RecordRef,
)
from fabric.model.records.record_json import CorruptRecordError, decode_at
from fabric.state.contract import MovedError, Stored, build_state_key
from fabric.state.dev_journal import find_diversion_problem
from fabric.state.locks.conditional_writes import refuse_unconditional
from fabric.state.locks.document import record_options
from fabric.state.locks.leases import Asker, LockLostError, LockManager, Options, Pulse, Tell, Terms
from fabric.state.records.locked_record import FoundRecord, LockedRecord
from fabric.state.records.unsure import drop_note, find_unwritten_problem, with_note
from fabric.state.records.wal import build_wal_path, read_log, replay_log
from fabric.state.store import RecordStore
from fabric.system.clock import Clock
from fabric.system.parallel import run_for_each
from fabric.system.process.process_identity import Process

_FLUSH_SECONDS = 0.5
# How often a record is read anew when somebody who was overtaken still writes.
_TRIES = 5
# Our own code keeps the conditions of these; a store behind a network is tried out first.


class Claim(Struct, frozen=True):
    """The planned change of a run on one record, and the conditions that forbid it."""

    ref: RecordRef
    operation: str
    mode: Mode
    provider_id: str
    region: str
    intents: tuple[Intent, ...]
    refuse: Callable[[Record | None], Problem | None]
    # Of a deploy.
    origin: Origin = Origin()
    preview: PreviewStage | None = None

    @property
    def lifecycle(self) -> Lifecycle:
        return Lifecycle.REMOVING if self.operation == "remove" else Lifecycle.DEPLOYING


class LockPolicy(Struct, frozen=True):
    """The holder's identity, the lease and wait times, and the command options of records."""

    me: Process
    clock: Clock
    terms: Terms
    options: Options = record_options


class RecordTransaction:
    """The records of a run. Thread-safe. `claims` are all records that the run can change."""

    def __init__(self, record_stores: Mapping[RecordRef, RecordStore], around: LockPolicy) -> None:
        self._record_stores = record_stores
        self.around = around
        self._tell: Tell = lambda _: None
        self._go_on: Callable[[], None] = lambda: None
        self._claims: Mapping[RecordRef, Claim] = {}
        self._glances: dict[RecordRef, Record | None] = {}
        self._locked_records: dict[RecordRef, LockedRecord] = {}
        self._keepers: dict[int, LockManager] = {}
        self._pulse = Pulse(around.terms)
        self._failure: tuple[Problem, ...] = ()
        self._guard = threading.RLock()
        self._ended = threading.Event()
        self._flusher: threading.Thread | None = None

    def tell(self, tell: Tell, go_on: Callable[[], None]) -> None:
        """Set the receiver of wait messages. Its `go_on` raises to cancel a wait."""
        self._tell, self._go_on = tell, go_on

    def expect(self, claims: Iterable[Claim]) -> None:
        self._claims = {claim.ref: claim for claim in claims}

    def record_store(self, ref: RecordRef) -> RecordStore:
        return self._record_stores[ref]

    def record(self, ref: RecordRef) -> Record | None:
        """The record as this run knows it: its own page, or one look without a lock."""
        # Without the guard: who only looks does not wait for who is waiting for a lock.
        locked_record = self._locked_records.get(ref)
        if locked_record is not None:
            as_found = locked_record.as_found
            return None if as_found.is_stub else as_found
        if ref not in self._glances:
            record_store = self._record_stores.get(ref)
            found = read_unlocked(record_store, ref) if record_store else None
            # As it will be found under the lock: what is planned is what is done.
            self._glances[ref] = mark_intents_unknown(found) if found else None
        return self._glances[ref]

    def base(self, ref: RecordRef) -> Record | None:
        """The record as it was before this run."""
        locked_record = self._locked_records.get(ref)
        return locked_record.base if locked_record else self.record(ref)

    def lock_record(self, ref: RecordRef) -> LockedRecord:
        """Return a record under its lock. The first call takes all locks, in a fixed order."""
        with self._guard:
            if self._failure:
                raise WithheldError(self._failure, is_told=True)
            if not self._locked_records:
                self._claim_all()
            if ref not in self._locked_records:
                raise FabricError(_no_claim_problem(ref))
            return self._locked_records[ref]

    @property
    def locked_records(self) -> tuple[LockedRecord, ...]:
        locked_records = self._locked_records
        return tuple(locked_records[ref] for ref in sorted(locked_records))

    def _claim_all(self) -> None:
        opened: dict[RecordRef, LockedRecord] = {}
        try:
            problems = self._open_each(opened)
            problems = problems or run_for_each(
                sorted(opened), lambda ref: self._begin(opened, ref)
            )
        except StoppedError:
            self._give_up(opened)
            raise
        if problems:
            self._failure = problems
            self._give_up(opened)
            raise WithheldError(problems, is_told=False)
        self._locked_records = opened
        self._flusher = threading.Thread(target=self._flush_on, daemon=True)
        self._flusher.start()

    def _give_up(self, opened: Mapping[RecordRef, LockedRecord]) -> None:
        for locked_record in opened.values():
            locked_record.abandon()
        self._release()

    def _open_each(self, opened: dict[RecordRef, LockedRecord]) -> tuple[Problem, ...]:
        """Open the records one by one, in the same order for all runs, to prevent deadlocks."""
        for ref in sorted(self._claims):
            try:
                opened[ref] = self._open_record(self._claims[ref])
            except StoppedError:
                raise
            except FabricError as error:
                return error.problems
        return ()

    def _begin(self, opened: dict[RecordRef, LockedRecord], ref: RecordRef) -> None:
        """Begin, including a last write of an overtaken holder that happened before."""
        claim = self._claims[ref]
        for _ in range(_TRIES):
            try:
                opened[ref].begin(claim.lifecycle, claim.intents)
                unknown = [one.name for one in opened[ref].base.functions if not one.key]
                drop_note(self._record_stores[ref].home, ref, unknown)
            except MovedError:
                opened[ref] = self._read_under_lock(claim, opened[ref].record.fence)
            else:
                return
        raise LockLostError(ref)

    def _open_record(self, claim: Claim) -> LockedRecord:
        ref, record_store = claim.ref, self._record_stores[claim.ref]
        before = read_record(record_store, ref)
        fence = before[0].fence if before else 0
        asker = Asker(self._tell, self.around.options, self._go_on)
        return self._read_under_lock(
            claim, self._get_lock_keeper(record_store).take(ref, claim.operation, fence, asker)
        )

    def _read_under_lock(self, claim: Claim, fence: int) -> LockedRecord:
        ref, record_store = claim.ref, self._record_stores[claim.ref]
        keeper = self._get_lock_keeper(record_store)
        waiting = find_unwritten_problem(record_store.home, ref) or find_diversion_problem(
            record_store.home, ref
        )
        if waiting:
            raise FabricError(waiting)
        found = read_record(record_store, ref)
        if found and found[0].fence >= fence:
            # Fences only grow: somebody has taken the lock since, and has written.
            keeper.forsake(ref)
            raise LockLostError(ref)
        record = _with_log(record_store, found[0]) if found else None
        refused = claim.refuse(None if record is None or record.is_stub else record)
        if refused:
            raise FabricError(refused)
        begun = replace(
            record or _create_record(ref),
            fence=fence,
            mode=claim.mode,
            provider_id=claim.provider_id,
            region=claim.region,
        )
        if claim.operation == "deploy":
            preview = claim.preview or begun.preview
            begun = replace(begun, origin=claim.origin, preview=preview)
        begun = mark_intents_unknown(begun)
        base = mark_intents_unknown(record) if record else begun
        opening = FoundRecord(begun, base, found[1].version if found else None)
        return LockedRecord(record_store, keeper, opening, self.around.clock)

    def _get_lock_keeper(self, record_store: RecordStore) -> LockManager:
        locks = record_store.stores.locks
        if id(locks) not in self._keepers:
            for store in {
                id(store): store for store in (locks, record_store.stores.state)
            }.values():
                if not back_end_facts(store.kind).keeps_conditions:
                    refuse_unconditional(store, secrets.token_hex(8))
            around = self.around
            self._keepers[id(locks)] = LockManager(
                locks, around.me, around.clock, around.terms, self._pulse
            )
        return self._keepers[id(locks)]

    def _flush_on(self) -> None:
        while not self._ended.wait(_FLUSH_SECONDS):
            self.flush()

    def flush(self) -> None:
        # The log lies on the disk where a local record would lie: nothing is gained.
        away = [
            locked_record
            for locked_record in self._locked_records.values()
            if not self._is_local(locked_record)
        ]
        # A lost lock is said by the next task, and by the close.
        run_for_each(away, LockedRecord.flush)

    def _is_local(self, locked_record: LockedRecord) -> bool:
        return self._record_stores[locked_record.base.ref].is_own_folder

    def close(self, final: Callable[[LockedRecord], Record | None]) -> tuple[Problem, ...]:
        """Write the final content of every record and release the locks."""
        self._end_flushing()
        problems = run_for_each(
            self.locked_records, lambda locked_record: locked_record.close(final(locked_record))
        )
        self._release()
        return problems

    def abandon(self) -> None:
        """Stop immediately. The next run continues from the state on disk."""
        self._end_flushing()
        for locked_record in self.locked_records:
            locked_record.abandon()
        self._release()

    def _end_flushing(self) -> None:
        self._ended.set()
        if self._flusher is not None:
            self._flusher.join()

    def _release(self) -> None:
        run_for_each(self._keepers.values(), LockManager.release)


def _no_claim_problem(ref: RecordRef) -> Problem:
    return Problem(
        "run/moved",
        f"a file of {ref.title} was edited after this run was planned",
        hint="run the command again",
    )


def read_unlocked(record_store: RecordStore, ref: RecordRef) -> Record | None:
    """Read the record with this machine's unwritten results. Takes no lock and writes nothing."""
    found = read_record(record_store, ref)
    record = _with_log(record_store, found[0]) if found else None
    return None if record is None or record.is_stub else record


def read_record(record_store: RecordStore, ref: RecordRef) -> tuple[Record, Stored] | None:
    """Read the stored record, including stubs. Raises if it is unreadable."""
    stored = record_store.stores.state.read(build_state_key(ref))
    if stored is None:
        return None
    name = f"{record_store.stores.state.place}/{build_state_key(ref)}"
    return decode_at(stored.content, name, ref), stored


def _with_log(record_store: RecordStore, record: Record) -> Record:
    """Add the facts that only this machine has: new results and unknown functions."""
    log = read_log(build_wal_path(record_store.home, record.ref, record.fence))
    return with_note(record_store.home, replay_log(record, log))


def _create_record(ref: RecordRef) -> Record:
    lineage = secrets.token_hex(16)
    return Record(ref, provider_id="", lineage=lineage, salt=secrets.token_hex(16))


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
