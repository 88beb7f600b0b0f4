"""A record that is gone while something tells of it: an error with a way back, never nothing."""

import re
import shlex
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.support.in_process import compose, project
from tests.support.project import PYTHON, Project, handler

_STATE = ".fabric/state/shop/dev/cloud1-lambda.state.json"
_RECEIPT = ".fabric/dev.json"
_SHARED = PYTHON + "backend: {kind: sql, sqlConnectionStringEnv: STATE_URL}\n"
_ALL = ("remove", "deploy", "plan", "rollback", "releases", "state show", "state pull")


def _deployed(tmp_path: Path) -> Project:
    made = project(tmp_path)
    assert made.fabric("deploy").code == 0
    made.write({"src/two.py": handler("newer")})
    assert made.fabric("deploy").code == 0
    return made


def _hinted(made: Project, verb: str) -> None:
    """Run the command of that kind that the error names."""
    hint = made.json("remove").error["hint"]
    (line,) = (one for one in re.findall("`fabric ([^`]*)`", hint) if verb in one)
    done = made.fabric(*shlex.split(line))
    assert done.code == 0, done.err


@pytest.mark.parametrize("words", _ALL)
def test_lost_record_is_an_error_naming_the_remaining_evidence(words: str, tmp_path: Path) -> None:
    made = _deployed(tmp_path)
    (made.root / _STATE).unlink()
    done = made.json(*words.split())
    assert (done.code, done.error["code"]) == (1, "state/missing"), done.out
    assert ".fabric/dev.json" in done.error["message"]
    assert ".state.json.bak" in done.error["message"]
    assert (made.root / _RECEIPT).exists(), "the last witness is gone"


def test_the_backup_beside_a_local_state_brings_it_back(tmp_path: Path) -> None:
    made = _deployed(tmp_path)
    (made.root / _STATE).unlink()
    _hinted(made, "state push")
    assert made.fabric("deploy").code == 0
    assert made.fabric("remove").code == 0
    assert not (made.root / _RECEIPT).exists()


def test_a_backup_of_the_state_brings_it_back(tmp_path: Path) -> None:
    made = _deployed(tmp_path)
    assert made.fabric("state", "backup").code == 0
    shutil.rmtree(made.root / ".fabric/state")
    _hinted(made, "state restore")
    assert made.json("deploy").result["deployments"][0]["status"] == "unchanged"


def test_state_rm_after_a_lost_record_deletes_all_evidence(tmp_path: Path) -> None:
    made = _deployed(tmp_path)
    (made.root / _STATE).unlink()
    _hinted(made, "state rm")
    done = made.json("remove")
    assert (done.code, len(done.result["absent"])) == (0, 1)
    assert made.json("deploy").result["deployments"][0]["status"] == "deployed"


def test_never_deployed_record_is_not_reported_as_lost(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.json("remove").code == 0
    assert made.fabric("deploy").code == 0
    assert made.fabric("remove").code == 0
    assert made.fabric("remove").code == 0
    assert made.fabric("deploy").code == 0


def test_record_removed_by_another_machine_is_not_reported_as_lost(tmp_path: Path) -> None:
    """Its receipt stays here, and tells of nothing any more."""
    env = {"STATE_URL": f"sqlite:////{tmp_path}/shared.db"}
    here, there = project(tmp_path / "here", _SHARED), project(tmp_path / "there", _SHARED)
    assert here.fabric("deploy", env=env).code == 0
    assert there.fabric("remove", env=env).code == 0
    assert (here.root / _RECEIPT).exists()
    assert here.json("remove", env=env).code == 0
    assert here.json("plan", env=env).code == 0
    assert here.fabric("deploy", env=env).code == 0


def test_archives_in_the_backend_indicate_a_lost_record(tmp_path: Path) -> None:
    env = {"STATE_URL": f"sqlite:////{tmp_path}/shared.db"}
    here, there = project(tmp_path / "here", _SHARED), project(tmp_path / "there", _SHARED)
    # Deployed anew after a removal: the mark of that must not hide a later loss.
    for words in ("deploy", "remove", "deploy"):
        assert here.fabric(words, env=env).code == 0
    _lose(tmp_path / "shared.db")
    done = there.json("deploy", env=env)
    assert (done.code, done.error["code"]) == (1, "state/missing"), done.out
    assert "archives in" in done.error["message"]
    assert there.fabric("state", "rm", "--yes", env=env).code == 0
    assert there.fabric("deploy", env=env).code == 0


def _lose(path: Path) -> None:
    database = sqlite3.connect(path)
    with database:
        found = database.execute("DELETE FROM fabric_state WHERE key LIKE '%.state.json'")
        assert found.rowcount == 1
    database.close()


@pytest.mark.parametrize(
    "words",
    [
        "deploy -c b/fabric.yml",
        "plan -c b/fabric.yml",
        "rollback -c b/fabric.yml",
        "compose deploy --service b",
        "compose plan --service b",
    ],
)
def test_a_lost_record_of_an_upstream_is_named_with_a_command_for_it(
    words: str, tmp_path: Path
) -> None:
    made = compose(tmp_path, a=(), b=("a",))
    assert made.json("compose", "deploy").code == 0
    (made.root / "a/.fabric/state/a/dev/cloud1-lambda.state.json").unlink()
    done = made.json(*words.split())
    assert (done.code, done.error["code"]) == (1, "state/missing"), done.out
    assert "-c a/fabric.yml" in done.error["hint"]
