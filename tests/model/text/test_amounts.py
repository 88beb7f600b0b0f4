"""Counts and durations as text."""

from datetime import timedelta

import pytest

from fabric.model.text.amounts import format_age, format_count, format_duration


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (21, "21 tasks")]
)
def test_only_one_is_singular(count: int, text: str) -> None:
    assert format_count(count, "task") == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (1_260, "1.3 s"),
        (60_000, "1 min 00 s"),
        (65_900, "1 min 05 s"),
        (3_600_000, "60 min 00 s"),
    ],
)
def test_a_duration_uses_the_largest_unit_that_fits(ms: int, text: str) -> None:
    assert format_duration(ms) == text


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (0.5, "less than 1 minute"),
        (1, "1 minute"),
        (59.9, "59 minutes"),
        (119, "1 hour"),
        (1_440, "1 day"),
        (4_000, "2 days"),
    ],
)
def test_an_age_uses_the_largest_unit(minutes: float, text: str) -> None:
    assert format_age(timedelta(minutes=minutes)) == text
