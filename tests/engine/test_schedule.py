"""The scheduler, driven by seeded simulations: no threads, no clock."""

import random
from heapq import heappop, heappush

import pytest

from fabric.engine.schedule import ENDED, Agenda, Caps, Schedule, State
from fabric.graph.gates import Gate
from fabric.model.task import Lane

SEEDS_A_CASE = 250


def random_needs(chance: random.Random, size: int) -> list[list[int]]:
    return [
        sorted(chance.sample(range(number), min(number, chance.choice([0, 0, 1, 1, 2, 4]))))
        for number in range(size)
    ]


class Simulation:
    """Virtual time: tasks last as long as they say, some fail, sometimes a run is interrupted."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.size = chance.randint(1, 30)
        self.needs = random_needs(chance, self.size)
        self.lanes = [chance.choice([Lane.CPU, Lane.IO]) for _ in range(self.size)]
        self.lasts = [chance.choice([0.1, 1.0, 1.0, 5.0]) for _ in range(self.size)]
        self.fails = {number for number in range(self.size) if chance.random() < 0.08}
        self.caps = Caps(total := chance.randint(1, 8), chance.randint(1, total))
        self.interrupt_at = chance.choice([None, None, None, 3.0])
        self.closing = frozenset(n for n in range(self.size) if chance.random() < 0.1)
        self.gates = tuple(self._gate(chance) for _ in range(chance.choice([0, 0, 1, 2])))
        # Who goes on after failures has no gates.
        some = 0.0 if self.gates else chance.choice([0.0, 0.3])
        self.tolerating = frozenset(n for n in range(self.size) if chance.random() < some)
        self.schedule = Schedule(
            Agenda(self.needs, self.lanes, self.lasts, self.closing, self.gates, self.tolerating),
            self.caps,
        )
        self.started: list[int] = []
        self.finished: list[int] = []
        self.now = 0.0

    def _gate(self, chance: random.Random) -> Gate:
        """Between any two parts of the order: whoever stands behind it comes later anyhow."""
        split = chance.randint(0, self.size)
        before = [number for number in range(split) if chance.random() < 0.5]
        after = [number for number in range(split, self.size) if chance.random() < 0.5]
        return Gate(tuple(before), tuple(after))

    def go(self) -> None:
        running: list[tuple[float, int]] = []
        while not self.schedule.over:
            self._fill(running)
            assert running, "nothing runs, nothing can start, and yet it is not over"
            self.now, number = heappop(running)
            self.finished.append(number)
            if number in self.fails:
                self.schedule.fail(number)
            else:
                self.schedule.complete(number)
            if self.interrupt_at is not None and self.now >= self.interrupt_at:
                self.schedule.cancel_rest()

    def _fill(self, running: list[tuple[float, int]]) -> None:
        while (number := self.schedule.start()) is not None:
            self.started.append(number)
            ends = [self.schedule.states[need] for need in self.needs[number]]
            if number in self.tolerating and ends:
                assert all(one in ENDED for one in ends)
                assert State.DONE in ends
            else:
                assert all(one is State.DONE for one in ends)
            for gate in self.gates:
                if number in gate.after:
                    assert all(self.schedule.states[one] is State.DONE for one in gate.before)
            heappush(running, (self.now + self.lasts[number], number))
            self._check_caps(running)
        self._check_nothing_idles(running)

    def _check_caps(self, running: list[tuple[float, int]]) -> None:
        assert len(running) <= self.caps.total
        assert sum(self.lanes[number] is Lane.CPU for _, number in running) <= self.caps.cpu

    def _check_nothing_idles(self, running: list[tuple[float, int]]) -> None:
        """No ready task beside an idle worker, unless its lane is full."""
        ready = [n for n, state in enumerate(self.schedule.states) if state is State.READY]
        if len(running) >= self.caps.total:
            return
        cpu = sum(self.lanes[number] is Lane.CPU for _, number in running)
        assert all(self.lanes[n] is Lane.CPU and cpu >= self.caps.cpu for n in ready)


@pytest.mark.parametrize("base", range(0, 5000, SEEDS_A_CASE))
def test_every_task_starts_at_most_once_in_order_within_the_caps(base: int) -> None:
    for seed in range(base, base + SEEDS_A_CASE):
        simulation = Simulation(seed)
        simulation.go()
        assert len(set(simulation.started)) == len(simulation.started)
        assert simulation.started
        assert set(simulation.finished) == set(simulation.started)
        assert all(state in ENDED for state in simulation.schedule.states)


@pytest.mark.parametrize("seed", range(200))
def test_only_dependents_of_a_failed_task_are_blocked(seed: int) -> None:
    simulation = Simulation(seed)
    simulation.interrupt_at = None
    simulation.go()
    states = simulation.schedule.states
    for number, state in enumerate(states):
        behind = [one for gate in simulation.gates if number in gate.after for one in gate.before]
        waited_for = (*simulation.needs[number], *behind)
        bad = [n for n in waited_for if states[n] in (State.FAILED, State.BLOCKED)]
        lacks = len(waited_for) if number in simulation.tolerating else 1
        assert (state is State.BLOCKED) == bool(bad and len(bad) >= lacks)


def test_the_longest_way_to_go_starts_first() -> None:
    # 0 is alone and short; 1 -> 2 -> 3 is a chain.
    schedule = Schedule(Agenda([[], [], [1], [2]], [Lane.IO] * 4, [1.0] * 4), Caps(1, 1))
    assert schedule.start() == 1


def test_ties_are_settled_by_level_then_id() -> None:
    schedule = Schedule(Agenda([[], [], []], [Lane.IO] * 3, [1.0] * 3), Caps(3, 3))
    assert [schedule.start() for _ in range(3)] == [0, 1, 2]


def test_full_cpu_lane_leaves_room_for_other_lanes() -> None:
    schedule = Schedule(Agenda([[], [], []], [Lane.CPU, Lane.CPU, Lane.IO], [1.0] * 3), Caps(3, 1))
    assert {schedule.start(), schedule.start()} == {0, 2}
    assert schedule.start() is None


def test_completed_tasks_are_not_run_again() -> None:
    schedule = Schedule(
        Agenda([[], [0]], [Lane.IO] * 2, [1.0] * 2), Caps(1, 1), done=frozenset({0})
    )
    assert schedule.start() == 1
    schedule.complete(1)
    assert schedule.over


def test_ending_a_task_that_does_not_run_is_an_error() -> None:
    schedule = Schedule(Agenda([[]], [Lane.IO], [1.0]), Caps(1, 1))
    with pytest.raises(ValueError, match="not running"):
        schedule.complete(0)


def test_tasks_that_finish_a_service_run_before_the_next_service_starts() -> None:
    """Three services of a deploy (0, 1, 2) and its release (3, 4, 5), one task at a time."""
    needs = [[], [], [], [0], [1], [2]]
    agenda = Agenda(needs, [Lane.IO] * 6, [1.0] * 6, frozenset({3, 4, 5}))
    schedule = Schedule(agenda, Caps(1, 1))
    order = []
    while (number := schedule.start()) is not None:
        order.append(number)
        schedule.complete(number)
    assert order == [0, 3, 1, 4, 2, 5]


def test_gate_with_all_tasks_done_is_open_from_the_start() -> None:
    gate = Gate((0, 1), (2,))
    agenda = Agenda([[], [], []], [Lane.IO] * 3, [1.0] * 3, gates=(gate,))
    assert Schedule(agenda, Caps(1, 1), frozenset({0, 1})).start() == 2


def test_tasks_behind_a_gate_are_blocked_by_failures_before_it() -> None:
    needs: list[list[int]] = [[], [], [1], [2]]
    agenda = Agenda(needs, [Lane.IO] * 4, [1.0, 9.0, 1.0, 1.0], gates=(Gate((0,), (2,)),))
    schedule = Schedule(agenda, Caps(1, 1))
    assert schedule.start() == 1
    schedule.complete(1)
    assert schedule.start() == 0
    assert schedule.fail(0) == [2, 3]
    assert schedule.blocked_by == {2: 0, 3: 0}
