"""One stream, many listeners: none of them can stop it, or keep the others from hearing the end."""

import pytest

from fabric.engine.bus import Bus
from fabric.model.problems import FabricError, Problem
from fabric.model.runs.events import Event, ProblemFound, Stamped, TaskOutput
from fabric.system.clock import SystemClock


class Hearer:
    """Keeps what it hears; fails at the events and at the end that it is told to fail at."""

    def __init__(self, *, over: str = "", at_close: Exception | None = None) -> None:
        self.heard: list[Stamped] = []
        self.closed = 0
        self._over = over
        self._at_close = at_close

    def hear(self, event: Stamped) -> None:
        self.heard.append(event)
        if isinstance(event.event, TaskOutput) and event.event.text == self._over:
            raise RuntimeError(f"no more of {self._over}")

    def close(self) -> None:
        self.closed += 1
        if self._at_close:
            raise self._at_close

    @property
    def texts(self) -> list[str]:
        return [one.event.text for one in self.heard if isinstance(one.event, TaskOutput)]

    @property
    def problems(self) -> list[ProblemFound]:
        return [one.event for one in self.heard if isinstance(one.event, ProblemFound)]


def said(text: str) -> Event:
    return TaskOutput("build:api/a", text)


def bus_of(*listeners: Hearer) -> Bus:
    return Bus("run", SystemClock(), listeners)


def test_all_listeners_receive_all_events_in_order() -> None:
    first, second = Hearer(), Hearer()
    bus = bus_of(first, second)
    for text in "abc":
        bus.emit(said(text))
    bus.close()
    assert first.texts == second.texts == ["a", "b", "c"]
    assert [one.seq for one in first.heard] == [1, 2, 3]
    assert (first.closed, second.closed) == (1, 1)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_failing_listener_is_reported_once_and_receives_no_more_events(place: int) -> None:
    broken, others = Hearer(over="b"), [Hearer(), Hearer()]
    bus = bus_of(*others[:place], broken, *others[place:])
    for text in "abcb":
        bus.emit(said(text))
    bus.close()
    assert broken.texts == ["a", "b"]
    for one in others:
        assert one.texts == ["a", "b", "c", "b"]
        assert [found.severity for found in one.problems] == ["warning"]
        assert "no more of b" in one.problems[0].problem.message
    assert [one.closed for one in (*others, broken)] == [1, 1, 1]


def test_two_listeners_failing_on_one_event_are_both_reported_to_a_third() -> None:
    third = Hearer()
    bus = bus_of(Hearer(over="a"), Hearer(over="a"), third)
    bus.emit(said("a"))
    bus.close()
    assert len(third.problems) == 2


def test_listener_that_fails_on_close_does_not_stop_others_from_closing() -> None:
    broken, last = Hearer(at_close=RuntimeError("torn")), Hearer()
    bus = bus_of(broken, last)
    bus.close()
    assert last.closed == 1
    assert "torn" in last.problems[0].problem.message


def test_file_write_error_is_raised_after_all_listeners_are_closed() -> None:
    problem = Problem("disk/full", "the disk is full")
    last = Hearer()
    bus = bus_of(Hearer(at_close=FabricError(problem)), last)
    with pytest.raises(FabricError) as found:
        bus.close()
    assert found.value.problems == (problem,)
    assert last.closed == 1


def test_failure_without_remaining_listeners_is_raised_on_close() -> None:
    bus = bus_of(Hearer(over="a"))
    bus.emit(said("a"))
    bus.emit(said("b"))
    with pytest.raises(FabricError, match="no more of a"):
        bus.close()
