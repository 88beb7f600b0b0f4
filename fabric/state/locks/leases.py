"""Leases on records: taken in one order, renewed by heartbeats. A lost lease is lost
permanently."""

import secrets
import threading
import time
from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import RecordRef
from fabric.state.contract import Backend, MovedError, Stored, Version, lock_key
from fabric.state.locks.document import (
    LockHolder,
    decode_lock,
    encode_free,
    encode_lock,
    free_lock,
    lock_conflict_problem,
    record_options,
)
from fabric.system.clock import Clock, stamp, stamp_in
from fabric.system.parallel import run_for_each
from fabric.system.process.process_identity import Process, end_orphans, is_surely_dead

Tell = Callable[[str], None]
Options = Callable[[RecordRef], str]
# A holder beats this many times in a lease, so that one lost beat loses nothing.
_BEATS = 4
_LOOKS = 20


class LockLostError(FabricError):
    """Another process can have the record now. This run must write nothing more to it."""

    def __init__(self, ref: RecordRef) -> None:
        super().__init__(
            Problem(
                "state/lock-lost",
                f"lost the lock of {ref.title}: its heartbeat did not reach the backend in time",
                hint="run the command again: it checks the functions of the interrupted calls",
            )
        )


class Terms(Struct, frozen=True):
    """How locks are held and waited for, in seconds."""

    lease: float = 60.0
    wait: float = 0.0


class Asker(Struct, frozen=True):
    """The process that waits for a lock; it receives progress.

    `go_on` raises to cancel the wait.
    """

    tell: Tell
    # Select a record in commands.
    options: Options = record_options
    go_on: Callable[[], None] = lambda: None


class _Lease(Struct):
    """A lock of this keeper."""

    holder: LockHolder
    version: Version
    # The start of its latest heartbeat on the local clock.
    seen: float
    lost: bool = False
    # A running heartbeat must not arrive after the lock was released.
    writing: threading.Lock = field(default_factory=threading.Lock)


class Pulse:
    """The thread that sends heartbeats for all locks of a run, across all backends."""

    def __init__(self, terms: Terms) -> None:
        self._seconds = terms.lease / _BEATS
        self._keepers: list[LockManager] = []
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def beat_for(self, keeper: "LockManager") -> None:
        with self._guard:
            self._keepers.append(keeper)
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat_on, daemon=True)
                self._thread.start()

    def end(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _beat_on(self) -> None:
        while not self._ended.wait(self._seconds):
            with self._guard:
                held = [(keeper, ref) for keeper in self._keepers for ref in keeper.held]
            # Side by side: a thousand round trips one after the other outlast a lease.
            run_for_each(held, lambda one: one[0].beat(one[1]))


class LockManager:
    """All locks of one run in one backend, renewed by the pulse."""

    def __init__(
        self,
        backend: Backend,
        me: Process,
        clock: Clock,
        terms: Terms,
        pulse: Pulse | None = None,
    ) -> None:
        self._backend = backend
        self._me = me
        self._clock = clock
        self._terms = terms
        self._leases: dict[RecordRef, _Lease] = {}
        self._guard = threading.Lock()
        self._pulse = pulse or Pulse(terms)
        self._is_beaten_for = False

    def take(self, ref: RecordRef, operation: str, known_fence: int, asker: Asker) -> int:
        """Take the lock of a record. Returns its fence, which is higher than all earlier ones."""
        asked = self._clock.monotonic()
        seen: tuple[Version, float] | None = None
        told = False
        while True:
            stored = self._backend.read(lock_key(ref))
            now = self._clock.monotonic()
            if stored and (seen is None or seen[0] != stored.version):
                seen = (stored.version, now)
            if self._is_free(stored) or (seen and now - seen[1] >= self._terms.lease):
                fence = self._claim_lock(ref, operation, known_fence, stored)
                if fence is not None:
                    return fence
                continue
            holder = decode_lock(stored.content) if stored else None
            if now - asked >= self._terms.wait:
                options = asker.options(ref)
                raise FabricError(lock_conflict_problem(ref, holder, self._clock, options))
            if not told:
                told = True
                asker.tell(lock_conflict_problem(ref, holder, self._clock, "").message)
            asker.go_on()
            time.sleep(min(1.0, self._terms.lease / _LOOKS))

    def _is_free(self, stored: Stored | None) -> bool:
        holder = decode_lock(stored.content) if stored else None
        if holder is None:
            return True
        if not is_surely_dead(holder.process):
            return False
        # A command that it had started may still be at work at the provider.
        end_orphans(holder.process)
        return True

    def _claim_lock(
        self, ref: RecordRef, operation: str, known_fence: int, stored: Stored | None
    ) -> int | None:
        """Claim the lock. Returns the fence, or None if another process was faster."""
        before = free_lock(stored.content) if stored else 0
        fence = max(known_fence, before) + 1
        begun = self._clock.monotonic()
        holder = self._update_heartbeat(
            LockHolder(
                id=secrets.token_hex(8),
                ref=ref,
                operation=operation,
                process=self._me,
                fence=fence,
                created_at=stamp(self._clock),
            )
        )
        try:
            expected = stored.version if stored else None
            version = self._backend.write(lock_key(ref), encode_lock(holder), expected)
        except MovedError:
            return None
        with self._guard:
            self._leases[ref] = _Lease(holder, version, begun)
            first, self._is_beaten_for = not self._is_beaten_for, True
        if first:
            self._pulse.beat_for(self)
        return fence

    def _update_heartbeat(self, holder: LockHolder) -> LockHolder:
        return replace(
            holder,
            heartbeat_at=stamp(self._clock),
            expires_at=stamp_in(self._clock, self._terms.lease),
        )

    def require(self, ref: RecordRef) -> None:
        """Raise if the lock can have expired. Nothing must be started then."""
        if not self.holds(ref):
            raise LockLostError(ref)

    def holds(self, ref: RecordRef) -> bool:
        with self._guard:
            lease = self._leases.get(ref)
        if lease is None or lease.lost:
            return False
        return self._clock.monotonic() - lease.seen < self._terms.lease

    def confirm(self, ref: RecordRef) -> None:
        """Check in the store, not only by the local clock, that the lock is still held."""
        stored = self._backend.read(lock_key(ref))
        found = decode_lock(stored.content) if stored else None
        with self._guard:
            lease = self._leases.get(ref)
        if lease and (found is None or found.id != lease.holder.id):
            self.forsake(ref)
        self.require(ref)

    def beat(self, ref: RecordRef) -> None:
        """Send a heartbeat. A lock that another process took meanwhile is lost."""
        with self._guard:
            lease = self._leases.get(ref)
        if lease is not None:
            with lease.writing:
                self._beat(ref, lease)

    def _beat(self, ref: RecordRef, lease: _Lease) -> None:
        if lease.lost:
            return
        begun = self._clock.monotonic()
        holder = self._update_heartbeat(lease.holder)
        try:
            version = self._backend.write(lock_key(ref), encode_lock(holder), lease.version)
        except MovedError:
            lease.lost = True
        except FabricError:
            # Not reached this time: the lease runs on until it is over.
            return
        else:
            lease.version, lease.seen = version, begun

    def forsake(self, ref: RecordRef) -> None:
        """Give up a lock after a foreign write that only its holder is allowed to do."""
        with self._guard:
            lease = self._leases.get(ref)
            if lease is not None:
                lease.lost = True

    @property
    def held(self) -> Sequence[RecordRef]:
        with self._guard:
            return sorted(self._leases)

    def release(self) -> None:
        """Release the locks. A lock that is no longer held is left unchanged."""
        self._pulse.end()
        run_for_each(self.held, self._release)

    def _release(self, ref: RecordRef) -> None:
        with self._guard:
            lease = self._leases.pop(ref, None)
        if lease is not None:
            with lease.writing:
                self._free(ref, lease)

    def _free(self, ref: RecordRef, lease: _Lease) -> None:
        if lease.lost:
            return
        lease.lost = True
        try:
            self._backend.write(lock_key(ref), encode_free(lease.holder.fence), lease.version)
        except (MovedError, FabricError):
            return
