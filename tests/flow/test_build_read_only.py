"""A tree that may not be written: what needs no change works there, the rest says why not."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.project import (
    Done,
    Project,
    compose,
    ended,
    environment,
    handler,
    project,
    service,
)
from tests.support.unprivileged import read_only, started_unprivileged


def bound(made: Project, *words: str, cwd: str = "") -> Done:
    """Run by a user whom the modes of files bind."""
    command = [sys.executable, "-m", "fabric", *words, "--json"]
    return ended(started_unprivileged(command, made.root / cwd, environment(made.home)))


@contextmanager
def shut(folder: Path) -> Iterator[Path]:
    """A folder that only root may look into."""
    mode = folder.stat().st_mode
    folder.chmod(0)
    try:
        yield folder
    finally:
        folder.chmod(mode)


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


@pytest.mark.parametrize("words", [("compose", "plan"), ("compose", "deploy")])
def test_a_service_that_cannot_be_looked_at_is_named(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    made = compose(tmp_path, auth=(), api=("auth",))
    with shut(made.root / "auth"):
        for seen_from in ("", "api"):
            told = bound(made, *(words if not seen_from else words[1:]), cwd=seen_from)
            assert (told.code, told.error["code"]) == (65, "config/unreadable")
            assert told.error["where"]["file"] == str(made.root / "auth")


@pytest.mark.parametrize(
    "words", [("compose", "plan"), ("compose", "deploy"), ("compose", "runs"), ("doctor",)]
)
def test_an_own_folder_that_cannot_be_opened_is_named(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    made = deployed(tmp_path)
    with shut(made.root / ".fabric") as own:
        done = bound(made, *words)
    assert done.code == 73
    assert done.error["code"].partition("/")[0] == "disk"
    assert str(own) in done.error["message"]


@pytest.mark.parametrize("entry", ["main.py", "main.js", "main.ts"])
@pytest.mark.parametrize("words", [("compose", "build"), ("compose", "deploy")])
def test_an_entry_that_cannot_be_read_is_named_with_its_service(
    words: tuple[str, ...], entry: str, tmp_path: Path
) -> None:
    made = compose(tmp_path, auth=())
    runtime = "python3.11" if entry.endswith(".py") else "nodejs20.x"
    config = service("auth").replace("main.py", entry).replace("python3.11", runtime)
    made.write({"auth/fabric.yml": config, f"auth/{entry}": ""})
    with shut(made.root / "auth" / entry):
        done = bound(made, *words)
    assert done.error["code"] == "build/unreadable"
    assert done.error["where"]["file"] == f"auth/{entry}"
    assert f"auth/{entry}" in done.error["message"]


@pytest.mark.parametrize("kind", ["local", "sql"])
@pytest.mark.parametrize("words", [("plan",), ("deploy",), ("state", "list")])
def test_a_state_that_cannot_be_opened_is_a_matter_of_its_path(
    words: tuple[str, ...], kind: str, tmp_path: Path
) -> None:
    config = f"{service('shop')}backend: {{kind: {kind}}}\n"
    made = project(tmp_path, config, {"main.py": handler("one")})
    assert made.json("deploy").code == 0
    made.write({"main.py": handler("two")})
    name = "state" if kind == "local" else "state.db"
    with shut(made.root / ".fabric" / name) as place:
        done = bound(made, *words)
    assert done.code != 0
    assert str(place) in done.error["message"]
    assert "mode" in done.error["hint"]
    assert "network" not in done.error["hint"]
