"""A removal that is killed at any step: its record is there, or is gone as it should."""

from pathlib import Path

import pytest

from fabric.model.records.changes import FunctionGone, ReleaseDone
from fabric.model.records.record import Intent, Mode, Operation, Record
from fabric.state.backends.local import Local
from fabric.state.contract import build_state_key
from fabric.state.locks.leases import Terms
from fabric.state.records.locked_record import LockedRecord
from fabric.state.records.missing import find_missing_problem
from fabric.state.records.transaction import Claim, LockPolicy, RecordTransaction
from fabric.state.store import BackEndPair, RecordStore
from tests.state.locks.test_late_holders import FIRST, REF, Deploy, Stepping
from tests.state.locks.test_leases import HandClock

_TASK = "remove:shop@cloud1-lambda"


class KilledError(BaseException):
    """What no `except` of the product is meant to catch."""


def _deployed(folder: Path) -> Local:
    backend = Local(folder / "state")
    assert Deploy(_record_store(folder, backend), FIRST, HandClock()).run() == ()
    return backend


def _record_store(folder: Path, backend: Local | Stepping) -> RecordStore:
    return RecordStore(folder, BackEndPair(backend, backend))


def _removed(folder: Path, backend: Local | Stepping) -> None:
    transaction = RecordTransaction(
        {REF: _record_store(folder, backend)}, LockPolicy(FIRST, HandClock(), Terms(60.0))
    )
    intent = Intent(_TASK, Operation.REMOVE)
    transaction.expect(
        [Claim(REF, "remove", Mode.COMMAND, "cloud1-lambda", "", (intent,), lambda _: None)]
    )
    locked = transaction.lock_record(REF)
    locked.add(FunctionGone(_TASK, "first"), ReleaseDone(_TASK, "", (), ""))
    assert transaction.close(_nothing_left) == ()


def _nothing_left(locked: LockedRecord) -> Record | None:
    del locked
    return None


def _dies() -> None:
    raise KilledError


def _steps_of_a_removal(folder: Path) -> int:
    store = Stepping(_deployed(folder), 0, lambda: None)
    _removed(folder, store)
    return store.calls


def test_a_removal_that_is_killed_at_any_step_leaves_no_lost_record(tmp_path: Path) -> None:
    steps = _steps_of_a_removal(tmp_path / "alone")
    gone = 0
    for at in range(1, steps + 1):
        folder = tmp_path / f"step-{at}"
        backend = _deployed(folder)
        with pytest.raises(KilledError):
            _removed(folder, Stepping(backend, at, _dies))
        if backend.read(build_state_key(REF)) is None:
            gone += 1
            assert find_missing_problem(_record_store(folder, backend), REF) is None, at
    assert gone
