"""A tree that may not be written: what needs no change works there, the rest says why not."""

import sys
from pathlib import Path

import pytest

from tests.project import Done, Project, compose, ended, environment, handler
from tests.unprivileged import read_only, started_unprivileged

pytestmark = pytest.mark.flow


def bound(made: Project, *words: str) -> Done:
    """Run by a user whom the modes of files bind."""
    command = [sys.executable, "-m", "fabric", *words, "--json"]
    return ended(started_unprivileged(command, made.root, environment(made.home)))


def deployed(folder: Path) -> Project:
    made = compose(folder, auth=(), api=("auth",), web=())
    assert made.json("compose", "deploy").code == 0
    return made


def test_a_deploy_with_nothing_to_do_writes_at_most_its_journal(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    before = made.tree()
    with read_only(made.root, apart=[made.root / ".fabric/runs"]):
        for _ in range(2):
            result = bound(made, "compose", "deploy").result
            assert {row["status"] for row in result["deployments"]} == {"unchanged"}
            assert result["summary"]["ran"] == 0
    assert made.tree() == before


def test_a_look_needs_no_right_to_write(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"api/main.py": handler("newer")})
    with read_only(made.root):
        plan = bound(made, "compose", "plan").result
        assert plan["summary"]["update"] == 1
        assert bound(made, "compose", "outputs").code == 0
        assert bound(made, "compose", "list").code == 0


def test_a_change_is_refused_before_anything_is_called(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"api/main.py": handler("newer")})
    before = made.tree()
    with read_only(made.root):
        done = bound(made, "compose", "deploy")
        assert (done.code, done.error["code"].partition("/")[0]) == (73, "disk")
    assert made.tree() == before
