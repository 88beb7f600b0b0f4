"""`runs`, `cache`, `completion`, `--events` and `--profile`."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.test_build import damage_store
from tests.support.in_process import project


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# The story of a run.


def test_the_events_of_a_run_are_written_as_they_happen(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("package", "--events", "events.ndjson").code == 0
    version, *events = lines_of(made.root / "events.ndjson")
    assert (version["type"], version["ui"]) == ("version", "1.0")
    assert [one["seq"] for one in events] == list(range(events[0]["seq"], len(events) + 1))[
        : len(events)
    ]
    assert len({one["run"] for one in events}) == 1
    assert all(one["time"] for one in events)
    kinds = [one["type"] for one in events]
    assert (kinds[0], kinds[-1]) == ("run_started", "run_ended")
    assert kinds.count("task_started") == kinds.count("task_ended") == 4
    assert (events[-1]["ran"], events[-1]["status"]) == (4, "succeeded")


def test_task_events_are_ordered_by_start_end_and_dependency(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("package", "--events", "events").code == 0
    moments = {
        (one["type"], one["task"]): one["seq"]
        for one in lines_of(made.root / "events")
        if "task" in one
    }
    for name in ("one", "two"):
        build, package = f"build:shop/{name}", f"package:shop/{name}"
        assert moments["task_started", build] < moments["task_ended", build]
        assert moments["task_ended", build] < moments["task_started", package]


def test_failed_run_emits_its_problems_as_events(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({"src/one.py": "def handler(:\n"})
    assert made.fabric("package", "--events", "events").code == 2
    events = lines_of(made.root / "events")
    [problem] = [one for one in events if one["type"] == "problem"]
    assert (problem["severity"], problem["task"]) == ("error", "build:shop/one")
    ends = {one["task"]: one["status"] for one in events if one["type"] == "task_ended"}
    assert ends["build:shop/one"] == "failed"
    assert ends["package:shop/one"] == "blocked"
    assert events[-1]["status"] == "failed"


def test_a_profile_is_a_chrome_trace(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("package", "--profile", "trace.json").code == 0
    spans = json.loads((made.root / "trace.json").read_text())["traceEvents"]
    assert {one["name"] for one in spans} == {
        f"{kind}:shop/{name}" for kind in ("build", "package") for name in ("one", "two")
    }
    for one in spans:
        assert one["ph"] == "X"
        assert isinstance(one["pid"], int)
        assert isinstance(one["tid"], int)
        assert one["ts"] >= 0
        assert one["dur"] >= 0


def test_past_runs_are_listed_newest_first_and_shown(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.json("runs", "list").result["runs"] == []
    assert made.fabric("build").code == 0
    assert made.fabric("package").code == 0
    rows = made.json("runs", "list").result["runs"]
    assert [one["command"] for one in rows] == ["package", "build"]
    assert [one["ran"] for one in rows] == [2, 2]
    assert {one["status"] for one in rows} == {"succeeded"}
    latest = made.json("runs", "show").result
    assert latest["run"] == rows[0]["id"]
    assert latest["events"][-1]["type"] == "run_ended"
    older = made.json("runs", "show", rows[1]["id"]).result
    assert {one["task"] for one in older["events"] if one["type"] == "task_started"} == {
        "build:shop/one",
        "build:shop/two",
    }
    assert "package:shop/one" in made.fabric("runs", "show", "latest").out


def test_newest_twenty_journals_are_retained(tmp_path: Path) -> None:
    made = project(tmp_path)
    folder = made.root / ".fabric/runs"
    folder.mkdir(parents=True)
    for number in range(30):
        (folder / f"20200101T000000-{number:06d}-00000000.jsonl").write_text("")
    assert made.fabric("build").code == 0
    rows = made.json("runs", "list").result["runs"]
    assert len(rows) == 20
    assert rows[0]["command"] == "build"


def test_a_torn_journal_does_not_break_the_list(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    [path] = (made.root / ".fabric/runs").glob("*.jsonl")
    path.write_bytes(path.read_bytes()[:-40] + b"\xff\xfe")
    [row] = made.json("runs", "list").result["runs"]
    assert row["status"] == "unfinished"
    assert made.json("runs", "show").result["events"]


# The cache.


def test_cache_stats_print_folder_and_size(tmp_path: Path) -> None:
    made = project(tmp_path)
    empty = made.json("cache", "stats").result
    assert (empty["records"], empty["blobs"], empty["bytes"]) == (0, 0, 0)
    assert not (made.root / ".fabric").exists()
    assert made.fabric("package").code == 0
    full = made.json("cache", "stats").result
    assert full["folder"] == str(made.root / ".fabric/cache")
    assert full["records"] == 4
    assert full["bytes"] > 0


def test_cache_folder_is_set_by_the_variable(tmp_path: Path) -> None:
    made = project(tmp_path)
    env = {"FABRIC_CACHE_DIR": str(tmp_path / "elsewhere")}
    assert made.fabric("build", env=env).code == 0
    assert not (made.root / ".fabric/cache").exists()
    assert made.json("build", env=env).result["summary"]["ran"] == 0
    assert made.json("cache", "stats", env=env).result["records"] == 2


def test_verify_finds_and_deletes_damaged_entries(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("package").code == 0
    sound = made.json("cache", "verify").result
    assert (sound["removed"], sound["checked"] > 0) == (0, True)
    assert damage_store(made) == sound["checked"]
    assert made.json("cache", "verify").result["removed"] == sound["checked"]
    assert made.json("cache", "verify").result["checked"] == 0
    shutil.rmtree(made.root / ".fabric/build")
    assert made.fabric("package").code == 0
    assert made.json("cache", "verify").result["removed"] == 0


@pytest.mark.parametrize("limit", [("--max-size", "0"), ("--max-age", "0s")])
def test_pruned_entries_are_rebuilt(limit: tuple[str, str], tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("package").code == 0
    before, size = made.outputs(), made.json("cache", "stats").result["bytes"]
    kept = made.json("cache", "prune", "--max-size", "1G").result
    assert (kept["removed"], kept["keptBytes"]) == (0, size)
    gone = made.json("cache", "prune", *limit).result
    assert (gone["freedBytes"], gone["keptBytes"]) == (size, 0)
    assert made.json("cache", "stats").result["bytes"] == 0
    shutil.rmtree(made.root / ".fabric/build")
    assert made.fabric("package").code == 0
    assert made.outputs() == before


def test_cache_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    for name in ("cache", "runs"):
        assert (made.root / ".fabric" / name).stat().st_mode & 0o777 == 0o700
    assert (made.root / ".fabric/.gitignore").read_text() == "*\n"


# Completion.


def test_the_completion_scripts_are_for_their_shell(tmp_path: Path) -> None:
    made = project(tmp_path)
    marks = {"bash": "complete ", "zsh": "#compdef fabric", "fish": "complete --no-files"}
    for shell, mark in marks.items():
        script = made.fabric("completion", shell).out
        assert mark in script
        assert f"{shell}_complete" in script
        assert {"_FABRIC_COMPLETE", "_FABRICD_COMPLETE"} <= set(re.findall(r"\w+", script))
        if found := shutil.which(shell):
            subprocess.run([found, "-n"], input=script, text=True, check=True)
