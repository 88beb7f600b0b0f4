"""A holder that is stopped at any step, and goes on after somebody else has deployed."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.records.changes import FunctionDone
from fabric.model.records.record import FunctionRecord, Intent, Lifecycle, Mode, Operation, Record
from fabric.model.records.record_json import decode, encode
from fabric.state.backends.local import Local
from fabric.state.contract import Backend, Stored, Version, build_state_key, lock_key
from fabric.state.locks.document import decode_lock
from fabric.state.locks.leases import Terms
from fabric.state.records.listing import read_lock_holder
from fabric.state.records.locked_record import LockedRecord
from fabric.state.records.transaction import Claim, LockPolicy, RecordTransaction, lock_records
from fabric.state.records.wal import build_wal_path
from fabric.state.store import BackEndPair, RecordStore
from fabric.state.upkeep.corrections import forget, restore, unlock
from fabric.system.process.process_identity import Process
from tests.state.locks.test_leases import HandClock
from tests.support.records import record

REF = record().ref
LEASE = 60.0
SHORT = 1.0
FIRST, SECOND = Process("first", "host-1", 1), Process("second", "host-2", 2)


@dataclass
class Stepping:
    """A store whose owner is stopped once: just before or just after one of its calls."""

    inner: Backend
    at: int
    meanwhile: Callable[[], None]
    calls: int = 0
    kind: str = "local"
    place: str = "store"

    def _step(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            self.meanwhile()

    def read(self, key: str) -> Stored | None:
        self._step()
        found = self.inner.read(key)
        self._step()
        return found

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        self._step()
        version = self.inner.write(key, content, expected)
        self._step()
        return version

    def delete(self, key: str, expected: Version) -> None:
        self._step()
        self.inner.delete(key, expected)
        self._step()

    def list(self, prefix: str) -> tuple[str, ...]:
        return self.inner.list(prefix)

    def close(self) -> None:
        self.inner.close()


@dataclass
class Deploy:
    """What a run does with one record: claim it, call the provider, note the result, close."""

    record_store: RecordStore
    me: Process
    clock: HandClock
    terms: Terms = field(default_factory=lambda: Terms(LEASE))
    called: bool = False

    def run(self) -> tuple[Problem, ...]:
        transaction = RecordTransaction(
            {REF: self.record_store}, LockPolicy(self.me, self.clock, self.terms)
        )
        intent = Intent(f"deploy:shop/{self.me.user}@cloud1-lambda", Operation.DEPLOY, self.me.user)
        transaction.expect(
            [Claim(REF, "deploy", Mode.COMMAND, "cloud1-lambda", "", (intent,), self._refuse)]
        )
        try:
            locked_record = transaction.lock_record(REF)
            locked_record.require_lock()
            self.called = True
            locked_record.add(FunctionDone(intent.task, FunctionRecord(self.me.user, "key", "sha")))
        except FabricError as error:
            transaction.abandon()
            return error.problems
        return transaction.close(_deployed)

    def _refuse(self, found: Record | None) -> None:
        """Asked under the lock: from here on time does not go by."""
        del found
        self.clock.step = 0


def _deployed(locked_record: LockedRecord) -> Record:
    return replace(
        locked_record.record, pending=(), lifecycle=Lifecycle.DEPLOYED, deployment_id="id"
    )


@dataclass(frozen=True)
class Scene:
    backend: Backend
    home: Path

    def record_store(self, backend: Backend | None = None) -> RecordStore:
        backend = backend or self.backend
        return RecordStore(self.home, BackEndPair(backend, backend))

    def stored(self) -> Record | None:
        found = self.record_store().stores.state.read(build_state_key(REF))
        return None if found is None else _decoded(found)

    def second(self) -> tuple[Problem, ...]:
        """Waits out the lease, whoever has the lock."""
        clock = HandClock(step=SHORT / 2)
        return Deploy(self.record_store(), SECOND, clock, Terms(SHORT, wait=100)).run()

    def unlocked(self) -> tuple[Problem, ...]:
        """The lock is taken from the first, whose lease is not over by its own clock."""
        holder = read_lock_holder(self.record_store(), REF)
        if holder is not None:
            unlock(self.backend, REF, holder)
        return Deploy(self.record_store(), SECOND, HandClock()).run()


def _decoded(found: Stored) -> Record:
    return decode(found.content, "it")


def _steps_of_a_deploy(folder: Path) -> int:
    store = Stepping(Local(folder / "state"), 0, lambda: None)
    record_store = RecordStore(folder, BackEndPair(store, store))
    assert Deploy(record_store, FIRST, HandClock()).run() == ()
    return store.calls


def _stopped(folder: Path, *, at: int, overslept: bool) -> Iterator[str]:
    """One deploy stopped at one step; everything that is not as it has to be afterwards."""
    scene = Scene(Local(folder / "state"), folder)
    clock, answers, then = HandClock(), list[tuple[Problem, ...]](), list[Record | None]()

    def meanwhile() -> None:
        answers.append(scene.second() if overslept else scene.unlocked())
        then.append(scene.stored())
        clock.at += 2 * LEASE if overslept else 0

    store = Stepping(scene.backend, at, meanwhile)
    first = Deploy(scene.record_store(store), FIRST, clock)
    problems = first.run()
    now = scene.stored()
    assert answers, f"there is no step {at}"
    if answers != [()]:
        yield f"the second ended with {answers}"
    if now is None or now.function("second") is None:
        yield f"what the second deployed is lost: {now}"
    if problems and now != then[0]:
        yield f"the first wrote though it lost its lock: {now}"
    if problems and {one.code for one in problems} != {"state/lock-lost"}:
        yield f"the first ended with {problems}"
    if not problems and (now is None or now.function("first") is None):
        yield "the first says that it is done, and is not in the record"


@pytest.mark.slow
@pytest.mark.parametrize("overslept", [True, False], ids=["its lease ran out", "unlocked"])
def test_holder_paused_at_any_step_overwrites_nothing(tmp_path: Path, *, overslept: bool) -> None:
    steps = _steps_of_a_deploy(tmp_path / "alone")
    wrong = [
        f"step {at} of {steps}: {one}"
        for at in range(1, steps + 1)
        for one in _stopped(tmp_path / f"step-{at}", at=at, overslept=overslept)
    ]
    assert wrong == []


def test_late_write_of_a_replaced_holder_is_merged_by_the_current_one(
    tmp_path: Path,
) -> None:
    """It had confirmed its lock, was stopped, and writes before the other's first write."""
    scene = Scene(Local(tmp_path / "state"), tmp_path)
    assert Deploy(scene.record_store(), FIRST, HandClock()).run() == ()
    late = scene.stored()
    assert late is not None

    def written_late() -> None:
        found = scene.backend.read(build_state_key(REF))
        assert found is not None
        again = encode(replace(late, serial=late.serial + 1))
        scene.backend.write(build_state_key(REF), again, found.version)

    plain = Stepping(scene.backend, 0, lambda: None)
    for at in range(1, 12):
        store = dataclasses.replace(plain, at=at, meanwhile=written_late)
        second = Deploy(scene.record_store(store), SECOND, HandClock())
        problems = second.run()
        now = scene.stored()
        if now is not None and now.function("second") is not None and not problems:
            continue
        assert {one.code for one in problems} == {"state/lock-lost"}


def test_log_of_a_later_holder_is_not_modified(tmp_path: Path) -> None:
    scene = Scene(Local(tmp_path / "state"), tmp_path)
    later = build_wal_path(tmp_path, REF, 99)
    later.parent.mkdir(parents=True)
    later.write_text("of somebody who holds it by now")
    assert scene.unlocked() == ()
    assert later.exists()


@pytest.mark.parametrize("operation", ["restore", "rm"])
def test_late_manual_record_repair_overwrites_nothing(operation: str, tmp_path: Path) -> None:
    scene = Scene(Local(tmp_path / "state"), tmp_path)
    assert Deploy(scene.record_store(), FIRST, HandClock()).run() == ()
    old = scene.stored()
    assert old is not None
    around = LockPolicy(FIRST, HandClock(), Terms(LEASE))
    calls: dict[str, Callable[[RecordStore], object]] = {
        "restore": lambda record_store: restore(record_store, [old], around),
        "rm": lambda record_store: forget(record_store, REF, around),
    }
    for at in (6, 7, 8):  # after the write of the lock, and around the read before the own write
        store = Stepping(scene.backend, at, lambda: _quiet(scene.unlocked()))
        with pytest.raises(FabricError) as caught:
            calls[operation](scene.record_store(store))
        assert "state/lock-lost" in {one.code for one in caught.value.problems}
        now = scene.stored()
        assert now is not None
        assert now.function("second") is not None


def _quiet(problems: tuple[Problem, ...]) -> None:
    assert problems == ()


def test_no_record_is_ahead_of_its_lock(tmp_path: Path) -> None:
    """Else the next holder's fence were below that of the record, and it counted as late."""
    scene = Scene(Local(tmp_path / "state"), tmp_path)
    around = LockPolicy(FIRST, HandClock(), Terms(LEASE))
    ((restored,), _) = restore(scene.record_store(), [replace(record(), fence=700)], around)
    with lock_records(scene.record_store(), {REF: 0}, "look", around) as fences:
        assert fences[REF] > restored.fence
        stored = scene.backend.read(lock_key(REF))
        assert stored is not None
        holder = decode_lock(stored.content)
        assert holder is not None
        assert holder.fence == fences[REF]
