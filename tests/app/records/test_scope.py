"""How long a lock is held, as its variable says it."""

from pathlib import Path
from types import MappingProxyType

import pytest

from fabric.app.records.scope import LEASE_VARIABLE, lock_policy
from fabric.app.settings import Settings
from fabric.model.problems import ExitCode, FabricError


def settings(lease: str) -> Settings:
    env = MappingProxyType({LEASE_VARIABLE: lease})
    return Settings(env, Path("/"), 2, stdout_is_terminal=False, stderr_is_terminal=False)


@pytest.mark.parametrize(
    ("text", "seconds"), [("", 60), ("5", 5), ("0.4", 0.4), ("90s", 90), ("2m", 120), ("1h", 3600)]
)
def test_a_lease_is_a_duration(text: str, seconds: float) -> None:
    assert lock_policy(settings(text)).terms.lease == seconds


@pytest.mark.parametrize("text", ["0", "61m", "soon", "-1", "1e3"])
def test_invalid_lease_is_rejected_with_a_valid_example(text: str) -> None:
    with pytest.raises(FabricError) as raised:
        lock_policy(settings(text))
    assert raised.value.exit_code is ExitCode.USAGE
    assert LEASE_VARIABLE in raised.value.first.message
    assert "90s" in raised.value.first.hint
