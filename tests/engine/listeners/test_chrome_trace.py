"""A run as a Chrome trace: each task is a span, and parallel tasks have their own rows."""

import json
from pathlib import Path

import pytest

from fabric.engine.listeners.chrome_trace import Profile
from fabric.model.problems import FabricError
from fabric.model.runs.events import Event, RunEnded, Stamped, TaskEnded, TaskStarted


def at(seconds: float, event: Event) -> Stamped:
    return Stamped("r1", 1, "2020-01-01T00:00:00.000Z", seconds, event)


def spans(path: Path, *events: Stamped) -> list[dict[str, object]]:
    profile = Profile(path)
    for one in events:
        profile.hear(one)
    profile.close()
    found = json.loads(path.read_text())["traceEvents"]
    assert isinstance(found, list)
    return found


def test_task_is_a_span_in_microseconds(tmp_path: Path) -> None:
    (span,) = spans(
        tmp_path / "trace.json",
        at(0.5, TaskStarted("build:a/b", "first build")),
        at(2.0, TaskEnded("build:a/b", "ran", "first build", 1500)),
        at(2.5, RunEnded("ok", 1, 0, 0, 0, 7)),
    )
    assert span == {
        "name": "build:a/b",
        "cat": "ran",
        "ph": "X",
        "ts": 500_000,
        "dur": 1_500_000,
        "pid": 1,
        "tid": 1,
        "args": {"reason": "first build"},
    }


def test_row_of_an_ended_task_is_used_again(tmp_path: Path) -> None:
    found = spans(
        tmp_path / "trace.json",
        at(0, TaskStarted("a", "")),
        at(1, TaskStarted("b", "")),
        at(2, TaskEnded("a", "ran", "", 2000)),
        at(3, TaskStarted("c", "")),
        at(4, TaskEnded("b", "ran", "", 3000)),
        at(5, TaskEnded("c", "ran", "", 2000)),
    )
    assert [(one["name"], one["tid"]) for one in found] == [("a", 1), ("b", 2), ("c", 1)]


def test_skipped_task_has_no_span(tmp_path: Path) -> None:
    assert spans(tmp_path / "trace.json", at(0, TaskEnded("a", "skipped", "up to date", 0))) == []


def test_trace_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FabricError):
        Profile(tmp_path / "file" / "trace.json").close()
