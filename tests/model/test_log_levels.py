"""How grave a line is, by what it says of itself."""

import pytest

from fabric.model.observed import find_level, is_as_grave


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("ERROR: no such table", "error"),
        ("[warn] slow query", "warn"),
        ("2026-01-02T03:04:05Z INFO started", "info"),
        ("2026-01-02T03:04:05.000Z\t6f1b\tERROR\tInvoke Error", "error"),
        ("warning: deprecated", "warn"),
        ('{"level": "fatal", "msg": "out"}', "error"),
        ('{"severity": "NOTICE"}', "info"),
        ('{"level": 50, "msg": "pino"}', "error"),
        ('{"level": 20}', "debug"),
        ('{"level": true}', ""),
        ("{not json", ""),
        ("information about users", ""),
        ("Error handling is on", ""),
        ("hello", ""),
        ("", ""),
    ],
)
def test_log_level_is_found_in_common_formats(text: str, level: str) -> None:
    assert find_level(text) == level


def test_a_line_without_a_level_counts_as_info() -> None:
    assert is_as_grave("", "info")
    assert not is_as_grave("", "warn")
    assert is_as_grave("", "")
    assert is_as_grave("error", "warn")
