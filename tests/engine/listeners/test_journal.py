"""Events as lines of a file: one that was asked for must be written, a journal may fail."""

import json
from pathlib import Path

import pytest

from fabric.engine.listeners.journal import EventFile, RunJournal
from fabric.model.problems import FabricError, Problem
from fabric.model.runs.events import Event, ProblemFound, RunEnded, Stamped, TaskEnded, TaskStarted

STARTED = TaskStarted("build:a/b", "first build")
ENDED = RunEnded("ok", 1, 0, 0, 0, 7)


def stamped(event: Event, number: int = 1) -> Stamped:
    return Stamped("r1", number, "2020-01-01T00:00:00.000Z", 0.5, event)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_event_lines_follow_a_header_with_the_format(tmp_path: Path) -> None:
    file = EventFile(tmp_path / "events")
    file.hear(stamped(STARTED))
    file.hear(stamped(ProblemFound("build:a/b", "error", Problem("x/y", "it is bad")), 2))
    file.close()
    version, started, problem = lines(tmp_path / "events")
    assert (version["type"], version["ui"]) == ("version", "1.0")
    assert (started["type"], started["task"], started["seq"]) == ("task_started", "build:a/b", 1)
    assert problem["severity"] == "error"
    assert "it is bad" in str(problem["problem"])


def test_a_file_of_events_that_cannot_be_opened_ends_the_run_before_it_begins(
    tmp_path: Path,
) -> None:
    with pytest.raises(FabricError):
        EventFile(tmp_path / "nowhere" / "events")


def test_full_disk_is_reported_at_the_end() -> None:
    file = EventFile(Path("/dev/full"))
    file.hear(stamped(STARTED))
    with pytest.raises(FabricError) as caught:
        file.close()
    assert "/dev/full" in caught.value.first.message


def test_a_journal_is_written_by_the_end_of_its_run(tmp_path: Path) -> None:
    journal = RunJournal(tmp_path / "runs", "20200101T000000-000001")
    journal.hear(stamped(STARTED))
    journal.hear(stamped(ENDED, 2))
    path = tmp_path / "runs" / "20200101T000000-000001.jsonl"
    assert [one["type"] for one in lines(path)] == ["version", "task_started", "run_ended"]
    journal.close()


def test_killed_run_has_written_all_started_tasks(tmp_path: Path) -> None:
    journal = RunJournal(tmp_path, "r1")
    for number in range(300):
        journal.hear(stamped(STARTED, number))
        assert len(lines(tmp_path / "r1.jsonl")) == number + 2
    journal.close()


def test_up_to_date_tasks_are_written_in_batches(tmp_path: Path) -> None:
    journal = RunJournal(tmp_path, "r1")
    for number in range(300):
        journal.hear(stamped(TaskEnded("build:a/b", "skipped", "up to date", 0), number))
    assert len(lines(tmp_path / "r1.jsonl")) == 200
    journal.close()
    assert len(lines(tmp_path / "r1.jsonl")) == 301


def test_newest_twenty_journals_are_retained(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"20200101T000000-{number:06d}-0000abcd.jsonl").touch()
    RunJournal(tmp_path, "20200101T000001-000000-0000abcd").close()
    left = sorted(path.stem for path in tmp_path.iterdir())
    assert (len(left), left[-1]) == (20, "20200101T000001-000000-0000abcd")


def test_a_journal_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    journal = RunJournal(tmp_path / "file", "r1")
    journal.hear(stamped(ENDED))
    journal.close()
