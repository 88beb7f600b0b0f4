"""Turns of tasks: a few compute at a time, the most urgent first, and nobody waits for ever."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from fabric.engine.compute_slots import ComputeSlots
from tests.support.until import until

LONG = 60.0
NEVER = 3600.0


@pytest.fixture
def crew() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as pool:
        yield pool


def test_concurrent_computations_are_limited_to_the_slots(crew: ThreadPoolExecutor) -> None:
    turns, guard = ComputeSlots(3, NEVER), threading.Lock()
    inside, most = 0, 0

    def compute() -> None:
        nonlocal inside, most
        with guard:
            inside += 1
            most = max(most, inside)
        time.sleep(0.0005)
        with guard:
            inside -= 1

    def work(number: int) -> None:
        with turns.turn((float(number % 7), True)):
            compute()
            with turns.away():
                time.sleep(0)
            compute()

    list(crew.map(work, range(200)))
    assert (inside, turns.waiting) == (0, 0)
    assert most <= 3


def test_waiting_tasks_are_started_by_urgency(crew: ThreadPoolExecutor) -> None:
    turns, order = ComputeSlots(1, NEVER), list[float]()

    def work(urgency: float) -> None:
        with turns.turn((urgency, True)):
            order.append(urgency)

    urgencies = (-1.0, -5.0, 0.0, -3.0)
    with turns.turn((0.0, True)):
        for count, urgency in enumerate(urgencies, 1):
            crew.submit(work, urgency)
            until(lambda count=count: turns.waiting == count)  # type: ignore[misc]
        assert order == []
    until(lambda: len(order) == len(urgencies))
    assert order == sorted(urgencies)


def test_task_that_is_away_releases_its_slot(crew: ThreadPoolExecutor) -> None:
    turns = ComputeSlots(1, NEVER)

    def work() -> str:
        with turns.turn((0.0, True)):
            return "computed"

    with turns.turn((-9.0, True)):
        with turns.away():
            assert crew.submit(work).result(LONG) == "computed"
        kept_out: Future[str] = crew.submit(work)
        until(lambda: turns.waiting == 1)
        assert not kept_out.done(), "back, and at work again"
    assert kept_out.result(LONG) == "computed"


def test_slot_held_too_long_does_not_block_others(crew: ThreadPoolExecutor) -> None:
    turns = ComputeSlots(1, patience=0.01)

    def work() -> str:
        with turns.turn((0.0, True)):
            return "computed"

    with turns.turn((-9.0, True)):
        for _ in range(3):
            assert crew.submit(work).result(LONG) == "computed"
        assert turns.waiting == 0


def test_overtaking_task_counts_while_it_computes(crew: ThreadPoolExecutor) -> None:
    turns, ends = ComputeSlots(1, patience=0.01), [threading.Event() for _ in range(3)]
    inside = list[int]()

    def work(number: int) -> None:
        with turns.turn((0.0, True)):
            inside.append(number)
            assert ends[number].wait(LONG)

    works = []
    for number in range(3):
        works.append(crew.submit(work, number))
        until(lambda number=number: number in inside)  # type: ignore[misc]
    assert turns.free == -2
    for end, one in zip(ends, works, strict=True):
        end.set()
        one.result(LONG)
    assert turns.free == 1


@pytest.mark.parametrize("while_away", [False, True])
def test_a_failure_gives_the_place_back(while_away: bool) -> None:  # noqa: FBT001
    turns = ComputeSlots(1, NEVER)

    def fail() -> None:
        with turns.turn((0.0, True)):
            if while_away:
                with turns.away():
                    raise ZeroDivisionError
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with turns.turn((0.0, True)):
        assert turns.waiting == 0


def test_task_that_fails_while_away_raises_without_waiting_for_a_slot(
    crew: ThreadPoolExecutor,
) -> None:
    turns, has_taken, may_end = ComputeSlots(1, NEVER), threading.Event(), threading.Event()

    def keep() -> None:
        with turns.turn((0.0, True)):
            has_taken.set()
            assert may_end.wait(LONG)

    def fail() -> None:
        with turns.turn((0.0, True)), turns.away():
            kept.append(crew.submit(keep))
            assert has_taken.wait(LONG)
            raise ZeroDivisionError

    kept = list[Future[None]]()
    with pytest.raises(ZeroDivisionError):
        crew.submit(fail).result(LONG)
    may_end.set()
    kept[0].result(LONG)
    assert turns.free == 1


def test_task_without_a_slot_may_go_away() -> None:
    turns = ComputeSlots(1, NEVER)
    with turns.away(), turns.turn((0.0, True)):
        pass
