"""Lines of many sources: none is lost, none is told twice, and they come in the order of time."""

from hypothesis import given
from hypothesis import strategies as st

from fabric.app.observing.line_merge import LineMerge, sort_lines
from fabric.model.observed import LogLine

_HOLD, _MEMORY = 10, 1_000


def line(at: int, number: int = 0, function: str = "hello") -> LogLine:
    return LogLine(at, "shop", function, "cloud1-lambda", f"line {number}", id=str(number))


# What is said when, and after how long it is heard of: once, or more often.
_SAID = st.lists(
    st.tuples(
        st.integers(0, 200),
        st.lists(st.integers(0, _HOLD - 1), min_size=1, max_size=3),
        st.sampled_from(["hello", "bye"]),
    ),
    max_size=40,
)


def heard(said: list[tuple[int, list[int], str]]) -> dict[int, list[LogLine]]:
    """Lines by the moment at which they are heard of."""
    found: dict[int, list[LogLine]] = {}
    for number, (at, delays, function) in enumerate(said):
        for delay in delays:
            found.setdefault(at + delay, []).append(line(at, number, function))
    return found


def told(arrivals: dict[int, list[LogLine]], until: int = 300) -> list[LogLine]:
    merge = LineMerge(_HOLD, _MEMORY)
    found = []
    for now in range(until):
        merge.take(arrivals.get(now, ()), now)
        found += merge.due(now)
    return found + merge.rest()


@given(_SAID)
def test_late_and_duplicate_lines_are_printed_once_and_in_order(
    said: list[tuple[int, list[int], str]],
) -> None:
    found = told(heard(said))
    assert sorted(int(one.id) for one in found) == list(range(len(said)))
    assert [one.at for one in found] == sorted(one.at for one in found)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 120)), max_size=30))
def test_line_arriving_too_late_is_still_printed(rows: list[tuple[int, int]]) -> None:
    arrivals: dict[int, list[LogLine]] = {}
    for number, (at, delay) in enumerate(rows):
        arrivals.setdefault(at + delay, []).append(line(at, number))
    assert sorted(int(one.id) for one in told(arrivals)) == list(range(len(rows)))


def test_line_waits_for_earlier_lines() -> None:
    merge = LineMerge(_HOLD, _MEMORY)
    merge.take([line(5, 1)], now=5)
    assert merge.due(now=14) == []
    merge.take([line(3, 2)], now=14)
    assert [one.id for one in merge.due(now=15)] == ["2", "1"]


def test_equal_texts_at_one_time_are_two_lines_if_their_ids_differ() -> None:
    twins = [line(5, 1), line(5, 2)]
    assert len(sort_lines([*twins, *twins])) == 2


def test_old_lines_are_dropped_from_deduplication() -> None:
    merge = LineMerge(_HOLD, 20)
    merge.take([line(5, 1)], now=5)
    assert len(merge.due(now=15)) == 1
    merge.take([line(5, 1)], now=20)
    assert merge.due(now=35) == []
    merge.due(now=60)
    merge.take([line(5, 1)], now=60)
    assert len(merge.due(now=70)) == 1
