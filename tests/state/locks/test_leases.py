"""Locks over every state store: one holder, patient waiters, and nothing written by the late."""

import datetime
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import ExitCode, FabricError
from fabric.model.records.changes import FunctionGone
from fabric.model.records.record import Lifecycle, Record, RecordRef
from fabric.model.records.record_json import decode
from fabric.state.backends.local import Local
from fabric.state.contract import Backend, build_state_key, lock_key
from fabric.state.locks.document import decode_lock
from fabric.state.locks.leases import Asker, LockManager, Pulse, Terms
from fabric.state.records.locked_record import FoundRecord, LockedRecord
from fabric.state.records.wal import build_wal_path
from fabric.state.store import BackEndPair, RecordStore
from fabric.system.clock import Clock, SystemClock
from fabric.system.process.process_identity import Process, identify_this_process
from tests.support.project import REPO
from tests.support.servers import stores
from tests.support.servers.fleet import Fleet
from tests.support.servers.stores import Space, Store
from tests.support.until import until

# The first run on a machine installs servers.
pytestmark = [pytest.mark.timeout(600), pytest.mark.sampled]
REF = RecordRef("api", "dev", "cloud1-lambda")
LEASE = 60.0
# Of waiters: how often they look follows from it.
SHORT = 1.0
SECOND = datetime.timedelta(seconds=1)
DAY = datetime.timedelta(days=1)
WALL = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
ELSEWHERE = Process("somebody", "another-host", 4711)


@dataclass
class HandClock:
    """Moves by hand, or a step with each look at it: then a waiter waits without sleeping long."""

    at: float = 1000.0
    wall: datetime.datetime = WALL
    step: float = 0.0

    def monotonic(self) -> float:
        self.at += self.step
        return self.at

    def now(self) -> datetime.datetime:
        return self.wall


@pytest.fixture(params=stores.parameters(*stores.ALL))
def space(request: pytest.FixtureRequest, fleet: Fleet, tmp_path: Path) -> Space:
    store: Store = request.param
    return store.space(fleet, tmp_path)


@pytest.fixture
def backend(space: Space) -> Iterator[Backend]:
    made = space.open()
    yield made
    made.close()


@pytest.fixture
def keep(backend: Backend) -> Iterator[Callable[..., LockManager]]:
    """Makes keepers, each of another host unless said otherwise; no beating thread outlives one."""
    made: list[LockManager] = []

    def keeper(
        clock: Clock | None = None, wait: float = 0.0, lease: float = LEASE, me: Process = ELSEWHERE
    ) -> LockManager:
        made.append(LockManager(backend, me, clock or HandClock(), Terms(lease, wait)))
        return made[-1]

    yield keeper
    for one in made:
        one.release()


def take(keeper: LockManager, known: int = 0, told: list[str] | None = None) -> int:
    return keeper.take(REF, "deploy", known, Asker((told if told is not None else []).append))


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(FabricError) as caught:
        call()
    return caught.value.first.code


Keep = Callable[..., LockManager]


def patient(keep: Keep, clock: HandClock | None = None) -> LockManager:
    """One that takes over what does not beat: its own clock moves while it looks."""
    return keep(clock or HandClock(step=SHORT), wait=10, lease=SHORT)


def test_second_caller_gets_an_error_naming_the_lock_holder(keep: Keep) -> None:
    take(keep())
    with pytest.raises(FabricError, match="somebody@another-host") as caught:
        take(keep())
    assert caught.value.first.code == "lock/held"
    assert caught.value.exit_code is ExitCode.LOCKED
    assert "force-unlock --service api --stage dev" in caught.value.first.hint


def test_waiter_reports_the_lock_holder_once(keep: Keep) -> None:
    take(keep())
    told: list[str] = []
    waiter = keep(HandClock(step=0.1), wait=SHORT / 2, lease=SHORT)
    assert code_of(lambda: take(waiter, told=told)) == "lock/held"
    assert len(told) == 1
    assert "somebody@another-host (pid 4711)" in told[0]


def test_a_waiter_takes_over_only_after_a_whole_lease_without_a_beat(keep: Keep) -> None:
    fence = take(keep())
    clock = HandClock(step=SHORT / 10)
    begun = clock.at
    assert take(keep(clock, wait=10, lease=SHORT)) > fence
    assert clock.at - begun >= SHORT


@dataclass
class ClockOfAWaiter(HandClock):
    """Between two looks of its owner a good part of a lease goes by, and the holder beats."""

    between: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        self.between()
        return super().monotonic()


def test_a_beat_makes_a_waiter_begin_to_count_again(keep: Keep) -> None:
    hands = HandClock()
    holder = keep(hands)
    take(holder)

    def beat() -> None:
        hands.wall += SECOND
        assert hands.wall < WALL + 60 * SECOND, "it tries for ever to take what beats"
        holder.beat(REF)

    clock = ClockOfAWaiter(step=SHORT * 0.6, between=beat)
    waiter = keep(clock, wait=SHORT * 4, lease=SHORT)
    assert code_of(lambda: take(waiter)) == "lock/held"
    assert holder.holds(REF)


def test_holder_renews_its_lease_automatically(backend: Backend, keep: Keep) -> None:
    take(keep(SystemClock(), lease=1.0))
    wait_for_a_beat(backend)


@pytest.mark.parametrize("step", [DAY, -DAY], ids=["a day on", "a day back"])
def test_a_step_of_the_wall_clock_steals_nothing(step: datetime.timedelta, keep: Keep) -> None:
    clock = HandClock()
    holder = keep(clock)
    take(holder)
    clock.wall += step
    assert code_of(lambda: take(keep(HandClock(wall=clock.wall + step)))) == "lock/held"
    assert holder.holds(REF)


_TAKE_AND_STAY = """
import sys
from pathlib import Path
from fabric.model.records.record import RecordRef
from fabric.config.values import BackendKind
from fabric.state.locks.leases import Asker, LockManager, Terms
from fabric.system.clock import SystemClock
from fabric.system.process.process_identity import identify_this_process
from tests.support.servers.stores import Space
kind, home, settings, env, table = eval(sys.argv[1])
space = Space(BackendKind(kind), Path(home), settings, env, in_lock_table=table)
keeper = LockManager(space.open(), identify_this_process(), SystemClock(), Terms())
keeper.take(RecordRef("api", "dev", "cloud1-lambda"), "deploy", 0, Asker(print))
print("taken", flush=True)
sys.stdin.read()
"""


def test_a_dead_process_of_this_host_is_taken_over_at_once(space: Space, keep: Keep) -> None:
    said = (space.kind.value, str(space.home), space.settings, space.env, space.in_lock_table)
    child = subprocess.Popen(
        [sys.executable, "-c", _TAKE_AND_STAY, repr(said)],
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"taken\n"
        waiter = keep(me=identify_this_process())
        assert code_of(lambda: take(waiter)) == "lock/held"
        child.send_signal(signal.SIGKILL)
    assert take(waiter) == 2


def test_fences_only_grow(backend: Backend, keep: Keep) -> None:
    fences = []
    for _ in range(3):
        keeper = keep()
        fences.append(take(keeper))
        keeper.release()
    take(keep())
    fences.append(take(patient(keep)))
    assert fences == sorted(set(fences))
    stored = backend.read(lock_key(REF))
    assert stored is not None
    backend.delete(lock_key(REF), stored.version)
    assert take(keep(), known=fences[-1]) > fences[-1], "the state knows it when no lock does"


def test_replaced_lock_holder_does_not_release_the_new_lock(backend: Backend, keep: Keep) -> None:
    late = keep()
    take(late)
    take(patient(keep))
    before = backend.read(lock_key(REF))
    late.release()
    assert backend.read(lock_key(REF)) == before


def test_a_lock_that_was_given_back_is_free(backend: Backend, keep: Keep) -> None:
    keeper = keep()
    take(keeper)
    keeper.release()
    stored = backend.read(lock_key(REF))
    assert stored is not None
    assert decode_lock(stored.content) is None
    assert code_of(lambda: keeper.require(REF)) == "state/lock-lost"


def test_a_lease_that_ran_out_by_our_own_clock_is_lost(keep: Keep) -> None:
    clock = HandClock()
    keeper = keep(clock)
    take(keeper)
    clock.at += LEASE - 1
    keeper.require(REF)
    clock.at += 1
    assert code_of(lambda: keeper.require(REF)) == "state/lock-lost"


@pytest.mark.slow
def test_eight_at_once_never_hold_it_together(backend: Backend) -> None:
    inside: list[int] = []
    together: list[int] = []
    fences: list[int] = []
    guard = threading.Lock()

    def work(number: int) -> None:
        me = replace(ELSEWHERE, pid=number)
        for _ in range(3):
            keeper = LockManager(backend, me, SystemClock(), Terms(lease=10, wait=120))
            fence = take(keeper)
            with guard:
                inside.append(number)
                together.append(len(inside))
                fences.append(fence)
            with guard:
                inside.remove(number)
            keeper.release()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert together == [1] * 24
    assert fences == sorted(set(fences))


# What a holder may write.


@dataclass(frozen=True)
class Desk:
    """A record in a store, and pages of it for holders that come one after the other."""

    backend: Backend
    home: Path

    @property
    def record_store(self) -> RecordStore:
        return RecordStore(self.home, BackEndPair(self.backend, self.backend))

    def locked_record(self, keeper: LockManager, clock: Clock) -> LockedRecord:
        fence = take(keeper)
        stored = self.backend.read(build_state_key(REF))
        found = decode(stored.content, "it") if stored else Record(REF, "p", "line", "salt")
        begun = replace(found, fence=fence)
        opening = FoundRecord(begun, found, stored.version if stored else None)
        return LockedRecord(self.record_store, keeper, opening, clock)

    def stored(self) -> Record:
        stored = self.backend.read(build_state_key(REF))
        assert stored is not None
        return decode(stored.content, "it")


@pytest.fixture
def tools(backend: Backend, tmp_path: Path) -> Desk:
    return Desk(backend, tmp_path / "home")


def overtaken(tools: Desk, keep: Keep) -> tuple[LockedRecord, LockedRecord]:
    """A holder that began, and one that took its lock over and begun too."""
    late = HandClock(step=SHORT)
    first = tools.locked_record(keep(), HandClock())
    first.begin(Lifecycle.DEPLOYING, ())
    second = tools.locked_record(patient(keep, late), late)
    late.step = 0
    second.begin(Lifecycle.DEPLOYING, ())
    return first, second


def test_replaced_lock_holder_does_not_write_record(tools: Desk, keep: Keep) -> None:
    first, _ = overtaken(tools, keep)
    before = tools.stored()
    first.add(FunctionGone("deploy:api/one", "one"))
    assert code_of(lambda: first.close(first.record)) == "state/lock-lost"
    assert tools.stored() == before
    assert code_of(first.require_lock) == "state/lock-lost"
    assert not (tools.home / "errored").exists(), "nobody has to push what is void"


def test_replaced_lock_holder_does_not_delete_record(tools: Desk, keep: Keep) -> None:
    first, _ = overtaken(tools, keep)
    before = tools.stored()
    assert code_of(lambda: first.close(None)) == "state/lock-lost"
    assert tools.stored() == before


def test_replaced_lock_holder_does_not_damage_other_logs(tools: Desk, keep: Keep) -> None:
    first, second = overtaken(tools, keep)
    second.add(FunctionGone("deploy:api/two", "two"))
    logged = build_wal_path(tools.home, REF, second.record.fence).read_bytes()
    first.add(FunctionGone("deploy:api/one", "one"))
    assert build_wal_path(tools.home, REF, second.record.fence).read_bytes() == logged
    assert first.record.fence < second.record.fence


def test_run_does_not_begin_with_an_expired_lock(tools: Desk, keep: Keep) -> None:
    clock = HandClock()
    locked_record = tools.locked_record(keep(clock), clock)
    clock.at += LEASE
    assert code_of(lambda: locked_record.begin(Lifecycle.DEPLOYING, ())) == "state/lock-lost"


def test_lost_lock_is_detected_before_the_first_call(
    backend: Backend, tools: Desk, keep: Keep
) -> None:
    locked_record = tools.locked_record(keep(), HandClock())
    take(patient(keep))
    assert code_of(lambda: locked_record.begin(Lifecycle.DEPLOYING, ())) == "state/lock-lost"


@pytest.mark.slow
def test_one_thread_renews_leases_for_all_backends_of_a_run(tmp_path: Path) -> None:
    terms = Terms(lease=6)
    pulse = Pulse(terms)
    before = set(threading.enumerate())
    stores = [Local(tmp_path / str(number)) for number in range(5)]
    keepers = [LockManager(one, ELSEWHERE, SystemClock(), terms, pulse) for one in stores]
    for keeper in keepers:
        take(keeper)
    assert len(set(threading.enumerate()) - before) == 1
    for store in stores:
        wait_for_a_beat(store)
    for keeper in keepers:
        keeper.release()


def wait_for_a_beat(store: Backend) -> None:
    first = store.read(lock_key(REF))
    until(lambda: store.read(lock_key(REF)) != first, "nobody beats for this lock")
