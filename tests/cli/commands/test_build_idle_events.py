"""A file of events is written where it was asked for, also when nothing is to be done."""

import json
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Project


def events(made: Project, *words: str) -> list[dict[str, object]]:
    path = made.root / "events"
    path.unlink(missing_ok=True)
    assert made.fabric(*words, "--events", str(path)).code == 0
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("verb", ["build", "package", "deploy"])
def test_a_run_with_nothing_to_do_writes_its_events(tmp_path: Path, verb: str) -> None:
    made = project(tmp_path)
    for _ in range(2):
        assert made.fabric(verb).code == 0
    rows = events(made, verb)
    assert [one["type"] for one in rows[:2]] == ["version", "run_started"]
    assert rows[-1]["type"] == "run_ended"
    assert rows[-1]["status"] == "succeeded"
    ended = [one for one in rows if one["type"] == "task_ended"]
    assert {one["status"] for one in ended} == {"skipped"}
    assert len(ended) >= 2


def test_a_removal_of_nothing_writes_its_events(tmp_path: Path) -> None:
    made = project(tmp_path)
    rows = events(made, "remove", "--yes")
    assert [one["type"] for one in rows] == ["version", "run_started", "run_ended"]
