"""A source that is followed, whatever its clocks say: none of its lines is lost, none is told
twice, and they come in the order of time."""

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from fabric.app.observing.follow import FollowedSource, LineStream
from fabric.app.observing.observe import Observing
from fabric.model.observed import SECOND, FunctionNumbers, LogLine, TimeWindow, TracedCall
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import NO_CONTEXT, CallContext, DeploymentAddress, LiveFunction
from fabric.providers.core.observing import LogQuestion, ObservedService
from tests.support.observed_target import observed_target

_BEGIN = 1_800_000_000 * SECOND
_ADDRESS = DeploymentAddress("shop", "dev", "cloud1-lambda", "cloud1-lambda", "us-east-1")
_SERVICE = ObservedService(_ADDRESS, (LiveFunction("hello", "h", ""), LiveFunction("bye", "b", "")))


@dataclass
class MovedClock:
    """Time goes on while somebody sleeps, and only then."""

    at: int = _BEGIN

    def monotonic(self) -> float:
        return self.at / SECOND

    def now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.at / SECOND, tz=datetime.UTC)

    def sleep(self, seconds: float) -> None:
        self.at += round(seconds * SECOND)


class ScriptedLine(Struct, frozen=True):
    """A line that is said so many seconds after the beginning, and stamped by a clock that is
    `ahead`; it can be read after so many seconds more."""

    number: int
    function: str
    after: float
    ahead: float = 0.0
    late: float = 0.0

    @property
    def stamp(self) -> int:
        return _BEGIN + round((self.after + self.ahead) * SECOND)

    @property
    def readable(self) -> int:
        return _BEGIN + round((self.after + self.late) * SECOND)

    @property
    def line(self) -> LogLine:
        text = f"line {self.number}"
        return LogLine(
            self.stamp, "shop", self.function, "cloud1-lambda", text, id=str(self.number)
        )


@dataclass
class FakeSource:
    """Answers with what can be read by then, in any order and some of it twice, as stores do. It is
    away between two moments. One without an `is_ending` gives what is stamped later than asked as
    well, as a command may."""

    clock: MovedClock
    said: list[ScriptedLine]
    away: tuple[int, int] = (0, 0)
    is_ending: bool = True
    windows: list[TimeWindow] = field(default_factory=list)

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        assert (service, watch.is_to_end()) == (_SERVICE, False)
        self.windows.append(asked.window)
        if self.away[0] <= self.clock.at < self.away[1]:
            raise FabricError(Problem("provider/unreachable", "nobody answers"))
        there = [one.line for one in self.said if one.readable <= self.clock.at]
        until = asked.window.until if self.is_ending else _at(100_000)
        found = [one for one in reversed(there) if asked.window.since <= one.at < until]
        return [*found, *found[::2]]

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterator[FunctionNumbers]:
        raise NotImplementedError

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterator[TracedCall]:
        raise NotImplementedError


@dataclass
class Follower:
    """What was told, and when."""

    said: list[ScriptedLine]
    seconds: float
    away: tuple[float, float] = (0, 0)
    is_ending: bool = True
    kind: type[FakeSource] = FakeSource
    told: list[tuple[int, LogLine]] = field(default_factory=list)

    def __post_init__(self) -> None:
        clock = MovedClock()
        away = (_at(self.away[0]), _at(self.away[1]))
        self.source = self.kind(clock, self.said, away, self.is_ending)
        end = _at(self.seconds)

        def hear(lines: list[LogLine]) -> bool:
            self.told += [(clock.at, one) for one in lines]
            return True

        stream = LineStream(clock, hear)
        watch = CallContext(lambda _: None, lambda: clock.at >= end)
        asked = Observing("logs", TimeWindow(_at(-600), _BEGIN))
        FollowedSource(
            observed_target(_SERVICE), self.source, asked, stream, watch, clock.sleep
        ).follow()
        stream.end()

    @property
    def numbers(self) -> list[int]:
        return [int(line.id) for _, line in self.told]

    def lag(self, number: int) -> float:
        """From when it could be read until it was told."""
        at = next(at for at, line in self.told if line.id == str(number))
        return (at - self.said[number].readable) / SECOND


def _at(seconds: float) -> int:
    return _BEGIN + round(seconds * SECOND)


def ticks(seconds: int, function: str = "hello") -> list[ScriptedLine]:
    return [ScriptedLine(number, function, number) for number in range(seconds)]


@pytest.mark.parametrize("ahead", [90, 20, 3_600])
def test_line_stamped_in_the_future_hides_no_other_lines(ahead: int) -> None:
    said = [*ticks(120), ScriptedLine(120, "bye", 5, ahead=ahead)]
    for is_ending in (True, False):
        found = Follower(said, 125, is_ending=is_ending)
        assert sorted(found.numbers)[:120] == list(range(120))


def test_line_stamped_in_the_future_is_printed_without_delay() -> None:
    said = [*ticks(20), ScriptedLine(20, "bye", 5, ahead=300)]
    assert Follower(said, 30).lag(20) < 2


def test_slow_clock_hides_no_lines_beside_a_correct_clock() -> None:
    said = [*ticks(60), *[ScriptedLine(60 + n, "bye", n, ahead=-120) for n in range(60)]]
    found = Follower(said, 75)
    assert sorted(found.numbers) == list(range(120))
    # Once it is known how late a function's lines are, they are found at each look.
    assert all(found.lag(number) < 3 for number in range(80, 120))


def test_query_windows_never_end_before_they_start() -> None:
    said = [*ticks(60), ScriptedLine(60, "bye", 5, ahead=3_600)]
    windows = Follower(said, 65, is_ending=False).source.windows
    assert all(one.since < one.until for one in windows)


def test_a_look_asks_about_little_once_lines_come_in_time() -> None:
    windows = Follower(ticks(60), 65).source.windows
    short = [one for one in windows if one.until - one.since < 940 * SECOND]
    assert len(short) > 0.8 * len(windows)


@pytest.mark.slow
def test_long_outage_neither_loses_nor_repeats_lines() -> None:
    found = Follower(ticks(2_000), 2_020, away=(100, 1_800))
    assert found.numbers == list(range(2_000))


@dataclass
class PacedSource(FakeSource):
    """One that begins a program for each look."""

    every: ClassVar[float] = 2.0


@dataclass
class SlowSource(FakeSource):
    """One that takes five seconds to answer."""

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        self.clock.sleep(5)
        return super().log_lines(service, asked, watch)


@pytest.mark.parametrize(("kind", "most"), [(FakeSource, 120), (PacedSource, 31), (SlowSource, 7)])
def test_paid_log_sources_are_polled_less_often(kind: type[FakeSource], most: int) -> None:
    found = Follower(ticks(60), 60, kind=kind)
    assert most * 0.7 < len(found.source.windows) <= most
    assert sorted(found.numbers)[:50] == list(range(50))


# What is said when, by whose clock, and how late it can be read.
_SAID = st.lists(
    st.tuples(
        st.floats(0, 100),
        st.sampled_from(["hello", "bye"]),
        st.floats(0, 120),
    ),
    max_size=30,
)
_SKEW = st.fixed_dictionaries({one: st.floats(-170, 800) for one in ("hello", "bye")})
_AWAY = st.tuples(st.floats(0, 60), st.floats(0, 60))


@settings(deadline=None, max_examples=60)
@given(_SAID, _SKEW, _AWAY)
def test_late_duplicate_reordered_and_skewed_lines_are_printed_once(
    rows: list[tuple[float, str, float]], skew: dict[str, float], away: tuple[float, float]
) -> None:
    said = [
        ScriptedLine(number, function, after, skew[function], late)
        for number, (after, function, late) in enumerate(rows)
    ]
    found = Follower(said, 260, away=(away[0], sum(away)))
    assert sorted(found.numbers) == list(range(len(said)))


@settings(deadline=None, max_examples=60)
@given(_SAID)
def test_lines_that_can_be_read_within_the_hold_come_in_order(
    rows: list[tuple[float, str, float]],
) -> None:
    said = [
        ScriptedLine(number, function, after, late=late / 400)
        for number, (after, function, late) in enumerate(rows)
    ]
    stamps = [line.at for _, line in Follower(said, 110).told]
    assert stamps == sorted(stamps)
    assert len(stamps) == len(said)
