"""A checkout brings links in place of fabric's own directories: nothing behind them is touched."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.system.files.disk import check_no_links
from tests.support.in_process import project
from tests.support.project import Project

# Each with something that fabric would prune or overwrite if it were its own.
OWN = ("runs", "deploy", "state", "archives", "wal", "build", "cache", "daemon", "state/shop")


def planted(made: Project, name: str) -> Path:
    """A directory of the user outside of the project, and a link to it in place of fabric's own."""
    precious = made.home / "precious"
    for path in ("a.jsonl", "dev/cloud1-lambda.state.json", "cloud1-lambda/deployment.json"):
        (precious / path).parent.mkdir(parents=True, exist_ok=True)
        (precious / path).write_text("{}")
    for number in range(30):
        (precious / f"20200101T000000-{number:06d}-00000000.jsonl").write_text("mine")
    link = made.root / ".fabric" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(precious)
    return precious


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", OWN)
def test_no_command_writes_or_deletes_behind_a_planted_link(tmp_path: Path, name: str) -> None:
    made = project(tmp_path)
    precious = planted(made, name)
    before = contents(precious)
    for words in (("build",), ("deploy",), ("plan",), ("deploy", "--force"), ("remove", "--yes")):
        done = made.json(*words)
        assert done.code in (0, 1, 73), done.err
        assert "internal/error" not in done.out
    assert contents(precious) == before


@pytest.mark.parametrize("name", OWN[:-1])
def test_a_deploy_is_refused_for_a_planted_link_before_anything_is_built(
    tmp_path: Path, name: str
) -> None:
    made = project(tmp_path)
    planted(made, name)
    done = made.json("deploy")
    assert (done.code, done.error["code"]) == (73, "disk/led-away")
    assert not list((made.root / ".fabric").rglob("*.zip"))
    assert not list((made.root / ".fabric").rglob("*.state.json"))


def test_a_link_above_another_directory_of_that_name_is_found_too(tmp_path: Path) -> None:
    made = project(tmp_path)
    precious = planted(made, "build")
    with pytest.raises(FabricError) as refused:
        check_no_links(made.root / ".fabric/build/shop/.fabric/state")
    assert refused.value.first.code == "disk/led-away"
    assert precious.exists()


def test_the_whole_of_fabrics_directory_as_a_link_is_refused_by_name(tmp_path: Path) -> None:
    made = project(tmp_path)
    precious = made.home / "elsewhere"
    precious.mkdir()
    (made.root / ".fabric").symlink_to(precious)
    done = made.json("deploy")
    assert (done.code, done.error["code"]) == (73, "disk/led-away")
    assert str(made.root / ".fabric") in done.error["message"]
    assert contents(precious) == {}


def test_embedded_database_must_not_be_a_link(tmp_path: Path) -> None:
    import sqlite3

    made = project(tmp_path)
    text = (made.root / "fabric.yml").read_text() + "backend: {kind: sql}\n"
    made.write({"fabric.yml": text})
    mine = made.home / "mine.db"
    with sqlite3.connect(mine) as database:
        database.execute("CREATE TABLE notes (text)")
    database.close()
    (made.root / ".fabric").mkdir()
    (made.root / ".fabric/state.db").symlink_to(mine)
    before = mine.read_bytes()
    done = made.json("deploy")
    assert (done.code, done.error["code"]) == (73, "disk/led-away")
    assert mine.read_bytes() == before


def test_only_run_logs_of_fabric_are_pruned(tmp_path: Path) -> None:
    made = project(tmp_path)
    runs = made.root / ".fabric/runs"
    runs.mkdir(parents=True)
    for number in range(30):
        (runs / f"20200101T000000-{number:06d}-0000abcd.jsonl").write_text("old")
        (runs / f"notes-{number}.jsonl").write_text("mine")
    assert made.fabric("build").code == 0
    assert len(list(runs.glob("notes-*"))) == 30
    assert len(list(runs.glob("2*.jsonl"))) == 20
