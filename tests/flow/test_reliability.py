"""Small rounds of every campaign: what the full ones look for, often enough to see it break."""

from pathlib import Path

import pytest

from benchmarks.reliability import canaries, faults, flips, kills, locks, paused, rollbacks, wal

pytestmark = pytest.mark.timeout(300)


def test_a_kill_at_any_moment_loses_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    tally = kills.run(6, tmp_path, seed=7)
    assert tally.wrong == ()
    assert tally.told["killed"]


def test_one_failing_file_operation_breaks_nothing_and_has_a_name(tmp_path: Path) -> None:
    assert faults.run(6, tmp_path).wrong == ()


def test_damaged_cache_or_state_is_a_miss_or_a_named_error(tmp_path: Path) -> None:
    tally = flips.run(16, tmp_path, seed=7)
    assert tally.wrong == ()
    assert int(str(tally.told["kinds of file"])) > 7


def test_changes_of_a_failed_deploy_are_rolled_back_or_named(tmp_path: Path) -> None:
    assert rollbacks.run(4, tmp_path, seed=7).wrong == ()


def test_no_secret_is_shown_or_written(tmp_path: Path) -> None:
    assert canaries.run(5, tmp_path).wrong == ()


@pytest.mark.parametrize(
    "backend", ["local", "sql", pytest.param("objstore1", marks=pytest.mark.slow)]
)
def test_processes_at_the_same_time_take_turns(backend: str, tmp_path: Path) -> None:
    assert locks.run(1, tmp_path, (backend,)).wrong == ()


def test_a_holder_that_was_paused_past_its_lease_writes_nothing(tmp_path: Path) -> None:
    assert paused.run(1, tmp_path).wrong == ()


def test_a_result_is_on_the_disk_and_counted(tmp_path: Path) -> None:
    # How long it takes depends on who else uses the disk: the campaign keeps the bound.
    tally = wal.run(50, tmp_path)
    assert tally.rounds == 50
    assert "ms median" in tally.told
