"""Past runs out of their journals: also those of an earlier version, and damaged ones."""

import json
from pathlib import Path

import pytest

from fabric.app.running.runs import list_runs, show_run
from fabric.app.settings import Settings
from fabric.model.outcomes.queried import RunOutcome
from fabric.views.report_json import encode_report
from tests.support.old_files import old_file

RUN = "20261122T143135-837361"


def settings_in(folder: Path) -> Settings:
    return Settings(env={}, cwd=folder, cores=1, stdout_is_terminal=False, stderr_is_terminal=False)


def listed(folder: Path, journal: bytes) -> object:
    path = folder / ".fabric" / "runs" / f"{RUN}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(journal)
    return json.loads(json.dumps(encode_report(list_runs(settings_in(folder)))))["result"]


def test_old_journal_is_still_readable(tmp_path: Path) -> None:
    assert listed(tmp_path, old_file("run.jsonl")) == {"runs": [
        {"id": RUN, "command": "deploy", "stage": "dev", "startedAt": "2026-11-22T14:31:35.848Z",
         "status": "succeeded", "ran": 4, "skipped": 3, "failed": 0, "ms": 27},
    ]}  # fmt: skip
    shown = show_run("latest", settings_in(tmp_path)).outcome
    assert isinstance(shown, RunOutcome)
    assert len(shown.events) == len(old_file("run.jsonl").splitlines())


@pytest.mark.parametrize(
    ("journal", "command"),
    [
        (b"", ""),
        (b"\xff", ""),
        (b"[" * 99_999, ""),
        (b'{"type":"run_started","command":"build"}\n{"type":"run_end', "build"),
        (b'{"type":"run_started","command":1}', ""),
        (b'{"type":"run_started","command":"build"}\n{"type":"run_ended","ran":"1"}', "build"),
    ],
    ids=str,
)
def test_missing_values_of_a_damaged_journal_are_unknown(
    journal: bytes, command: str, tmp_path: Path
) -> None:
    assert listed(tmp_path, journal) == {"runs": [
        {"id": RUN, "command": command, "stage": "", "startedAt": "", "status": "unfinished",
         "ran": 0, "skipped": 0, "failed": 0, "ms": 0},
    ]}  # fmt: skip
