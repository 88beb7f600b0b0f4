"""The same call for many items."""

import threading
from contextvars import ContextVar

import pytest

from fabric.model.problems import FabricError, Problem
from fabric.system.parallel import run_for_each

RUN: ContextVar[str] = ContextVar("RUN", default="")


def fail_odd(number: int) -> None:
    if number % 2:
        raise FabricError(Problem("x/odd", f"{number}"), Problem("x/more", f"{number}"))


@pytest.mark.parametrize("numbers", [[], [1], [2], [3, 2, 1], [*range(40)]])
def test_all_problems_are_returned_in_the_order_of_the_items(numbers: list[int]) -> None:
    found = run_for_each(numbers, fail_odd)
    expected = [f"{one}" for one in numbers if one % 2 for _ in range(2)]
    assert [one.message for one in found] == expected


def test_calls_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=5)
    arrived: list[int] = []
    assert run_for_each(range(3), lambda _: arrived.append(meeting.wait())) == ()
    assert sorted(arrived) == [0, 1, 2]


def test_no_more_calls_than_allowed_run_at_the_same_time() -> None:
    names = set[str]()
    run_for_each(range(20), lambda _: names.add(threading.current_thread().name), 2)
    assert len(names) <= 2


def test_calls_see_the_context_of_the_caller() -> None:
    RUN.set("mine")
    seen: list[str] = []
    run_for_each(range(3), lambda _: seen.append(RUN.get()))
    assert seen == ["mine"] * 3


def test_an_unexpected_error_is_not_a_problem() -> None:
    def fail(_: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_for_each(range(3), fail)
