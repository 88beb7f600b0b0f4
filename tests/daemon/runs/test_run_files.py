"""Records of runs on disk: only so many, only so old, and only our own."""

import datetime
import json
from pathlib import Path

import pytest

from fabric.daemon.runs.daemon_run import DaemonRun, RunStatus
from fabric.daemon.runs.run_files import KEPT_RUNS, RunFiles

NOW = datetime.datetime(2026, 11, 23, 12, tzinfo=datetime.UTC)
NOBODY: frozenset[str] = frozenset()


def run_at(when: datetime.datetime, number: int = 0) -> DaemonRun:
    run = f"{when:%Y%m%dT%H%M%S}-{number:06d}-5e1f09ac"
    return DaemonRun(run, "deploy", "shop", "dev", RunStatus.SUCCEEDED, "then", "later", {}, None)


def ids(files: RunFiles) -> list[str]:
    return [one.id for one in files.heads()]


def test_newest_runs_are_retained(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    rows = [run_at(NOW, number) for number in range(KEPT_RUNS + 3)]
    for run in rows:
        files.save(run)
        files.events_path(run.id).touch()
    files.prune(NOW, frozenset({rows[0].id}))
    assert ids(files) == [one.id for one in (*rows[:2:-1], rows[0])]
    assert len(list(tmp_path.iterdir())) == 2 * (KEPT_RUNS + 1)


def test_runs_older_than_two_weeks_are_deleted(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    days = [run_at(NOW - datetime.timedelta(days=number)) for number in (0, 13, 15)]
    for run in days:
        files.save(run)
    files.prune(NOW, NOBODY)
    assert ids(files) == [one.id for one in days[:2]]
    assert files.find(days[2].id) is None


def test_foreign_files_are_not_deleted(tmp_path: Path) -> None:
    files = RunFiles(tmp_path / "runs")
    other = tmp_path / "runs" / "notes.json"
    other.write_text("{}")
    files.prune(NOW, NOBODY)
    assert other.exists()
    assert ids(files) == []


def test_unfinished_files_of_a_killed_daemon_are_swept(tmp_path: Path) -> None:
    (tmp_path / ".x.json.1-1-aaaaaaaa.tmp").touch()
    RunFiles(tmp_path).sweep()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"formatVersion": 2},
        {"run": {}},
        {"run": None},
        {"process": 1},
        "[]",
        "{",
        "",
        '{"run": ' + "[" * 100_000,
    ],
)
def test_broken_record_is_ignored(change: dict[str, object] | str, tmp_path: Path) -> None:
    files, run = RunFiles(tmp_path), run_at(NOW)
    files.save(run)
    path = tmp_path / f"{run.id}.json"
    document = json.loads(path.read_text())
    path.write_text(change if isinstance(change, str) else json.dumps({**document, **change}))
    assert files.find(run.id) is None
    assert (ids(files), list(files.list_lost_runs())) == ([], [])


def test_record_under_another_name_is_ignored(tmp_path: Path) -> None:
    files, run, other = RunFiles(tmp_path), run_at(NOW), run_at(NOW, 1)
    files.save(run)
    (tmp_path / f"{run.id}.json").rename(tmp_path / f"{other.id}.json")
    assert files.find(other.id) is None


def test_record_writable_by_other_users_is_ignored(tmp_path: Path) -> None:
    files, run = RunFiles(tmp_path), run_at(NOW)
    files.save(run)
    (tmp_path / f"{run.id}.json").chmod(0o666)
    assert files.find(run.id) is None


def test_link_in_place_of_a_record_is_ignored(tmp_path: Path) -> None:
    files, run = RunFiles(tmp_path / "runs"), run_at(NOW)
    files.save(run)
    path = tmp_path / "runs" / f"{run.id}.json"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert files.find(run.id) is None
