"""Remove the lock of a record from any holder."""

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import RecordRef
from fabric.state.contract import Backend, MovedError, lock_key
from fabric.state.locks.document import LockHolder, decode_lock, encode_free

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
