"""Moments as people write them."""

import datetime

import pytest

from fabric.app.observing.observe import parse_moment
from fabric.model.observed import convert_to_nanoseconds, format_moment
from fabric.model.problems import FabricError

_NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10m", "2026-01-02T02:54:05.678Z"),
        ("1.5h", "2026-01-02T01:34:05.678Z"),
        ("90", "2026-01-02T03:02:35.678Z"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"),
        ("2026-01-01T02:00:00.25+02:00", "2026-01-01T00:00:00.250Z"),
    ],
)
def test_moment_is_an_absolute_or_relative_time(text: str, found: str) -> None:
    assert format_moment(convert_to_nanoseconds(parse_moment("--since", text, _NOW))) == found


@pytest.mark.parametrize("text", ["", "yesterday", "10x", "2026-13-01", "99999999999d", "-5m"])
def test_anything_else_is_a_slip(text: str) -> None:
    with pytest.raises(FabricError) as raised:
        parse_moment("--since", text, _NOW)
    assert raised.value.first.code == "usage/bad-time"
    assert "--since" in raised.value.first.message
