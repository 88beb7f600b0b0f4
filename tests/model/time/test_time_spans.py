"""One grammar for lengths of time, whatever option they stand in."""

import pytest

from fabric.model.problems import ExitCode, FabricError
from fabric.model.time.time_spans import parse_seconds

FORMS = {
    "0": 0, "90": 90, "1.5": 1.5, "90s": 90, "250ms": 0.25, "2m": 120, "1h": 3600, "0.5h": 1800,
    "30d": 30 * 86400, "30D": 30 * 86400, "2 m": 120, " 2m ": 120, "1H": 3600,
}  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), FORMS.items(), ids=FORMS)
def test_a_duration_is_a_number_with_or_without_a_unit(text: str, seconds: float) -> None:
    assert parse_seconds("--max-age", text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-1", "+1", "1w", "1.", ".5", "1e3", "1 2", "2m30s"])
def test_invalid_duration_is_reported_with_valid_units(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        parse_seconds("--lock-timeout", text)
    problem = caught.value.first
    assert (problem.code, caught.value.exit_code) == ("usage/bad-duration", ExitCode.USAGE)
    assert f"invalid value for --lock-timeout: `{text}` is not a duration" in problem.message
    assert "units: ms, s, m, h, d" in problem.hint
