"""Times of what is observed: none is lost between parts, and digits behind the point count."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.model.observed import PARTS, SECOND, TimeWindow, format_moment, parse_nanoseconds

TIMES = st.integers(0, 4_000_000_000 * SECOND)


@given(
    since=TIMES,
    length=st.integers(1, 10**15),
    counted=st.lists(st.tuples(TIMES, st.integers(0, 99))),
)
def test_each_count_falls_into_exactly_one_part(
    since: int, length: int, counted: list[tuple[int, int]]
) -> None:
    window = TimeWindow(since, since + length)
    for part in (0, window.whole_minutes() * SECOND):
        found = window.in_parts(counted, part)
        assert (len(found), sum(found)) == (PARTS, sum(count for _, count in counted))


@given(since=TIMES, length=st.integers(1, 10**15))
def test_whole_minutes_of_all_parts_cover_the_time(since: int, length: int) -> None:
    window = TimeWindow(since, since + length)
    seconds = window.whole_minutes()
    assert seconds % 60 == 0
    assert (seconds + 60) * PARTS * SECOND > length
    assert window.whole_minutes(1) >= seconds


@given(at=TIMES)
def test_a_moment_that_is_written_is_read_to_the_millisecond(at: int) -> None:
    assert parse_nanoseconds(format_moment(at)) == at // 1_000_000 * 1_000_000


@pytest.mark.parametrize(
    ("text", "rest"),
    [("", 0), (".5", 500_000_000), (".1234567", 123_456_700), (".123456789", 123_456_789)],
)
def test_up_to_nine_digits_behind_the_point_count(text: str, rest: int) -> None:
    whole = int(datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC).timestamp())
    assert parse_nanoseconds(f"2026-01-02T03:04:05{text}Z") == whole * SECOND + rest


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01T00:00:00Z", "2026-01-02T03:04:05.xZ"])
def test_invalid_timestamp_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_nanoseconds(text)
