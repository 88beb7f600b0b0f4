"""`build.command`: what it may read is in its key, or it does not get it."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.model.task import EntryKind, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.build import Runtimes
from fabric.tasks.build import BuildKind
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.in_process import project
from tests.support.project import Project
from tests.support.runtimes_project import digests, node, text_of, unchanged, write

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: nodejs20.x}
build: {command: COMMAND}
functions: [{name: one, entry: one.js}]
"""
COPY = "cat one.js > $FABRIC_OUT_DIR/index.js"


def commanded(tmp_path: Path, command: str = COPY, **files: str) -> Project:
    config = CONFIG.replace("COMMAND", f"[sh, -c, '{command}']")
    return project(tmp_path / "shop", config, {"one.js": "1", **files})


def ran(made: Project, env: Mapping[str, str] | None = None) -> int:
    return int(made.json("build", env=dict(env or {})).result["summary"]["ran"])


def told(tmp_path: Path, environment: Mapping[str, str], inputs: BuildInputs) -> dict[str, str]:
    """The environment that a command sees."""
    runtimes = Runtimes(tmp_path / "tools", environment, install=False)
    built = runtimes.build(tmp_path, inputs)
    lines = text_of(built, "env").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_build_command_sees_only_variables_of_its_cache_key(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/hello.js": ""})
    surroundings = {
        "PATH": os.defpath,
        "HOME": str(tmp_path),
        "LANG": "de_DE",
        "LC_ALL": "tr_TR",
        "TMPDIR": str(tmp_path),
        "EDITOR": "ed",
    }
    inputs = node("src/hello.js", command=("sh", "-c", "env > $FABRIC_OUT_DIR/env"))
    seen = told(tmp_path, surroundings, inputs)
    task = Task(TaskId("build:shop/hello"), inputs)
    runtimes = Runtimes(tmp_path / "tools", surroundings, install=False)
    entries = BuildKind(tmp_path, runtimes).code(task)
    keyed = {entry.name for entry in entries if entry.kind == EntryKind.ENV}
    assert keyed == {name for name, value in surroundings.items() if seen.get(name) == value}
    assert keyed == {"PATH", "HOME"}
    assert (seen["LANG"], seen["LC_ALL"]) == ("C.UTF-8", "C.UTF-8")


def test_a_command_is_keyed_by_the_machine_that_it_runs_on(tmp_path: Path) -> None:
    runtimes = Runtimes(tmp_path, {}, install=False)
    identity = runtimes.toolchain(tmp_path, node(command=("x",))).identity
    assert os.uname().machine in identity
    assert os.uname().sysname.lower() in identity


def test_another_path_runs_a_command_again(tmp_path: Path) -> None:
    made = commanded(tmp_path)
    extra = {"PATH": f"{ENVIRONMENT['PATH']}:{tmp_path}/none"}
    assert ran(made) == 1
    assert ran(made) == 0
    assert ran(made, extra) == 1
    assert ran(made) == 0


def test_files_in_a_linked_folder_are_inputs(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"deep/x.txt": "1"})
    made = commanded(tmp_path, "cat linked/deep/*.txt > $FABRIC_OUT_DIR/index.js")
    (made.root / "linked").symlink_to(outside)
    (made.root / "back").symlink_to(made.root)
    assert (ran(made), ran(made)) == (1, 0)
    write(outside, {"deep/x.txt": "2"})
    assert (ran(made), ran(made)) == (1, 0)
    write(outside, {"deep/y.txt": "3"})
    assert (ran(made), ran(made)) == (1, 0)
    other = write(tmp_path / "other", {"deep/x.txt": "2", "deep/y.txt": "3"})
    (made.root / "linked").unlink()
    (made.root / "linked").symlink_to(other)
    assert ran(made) == 1


@pytest.mark.parametrize("change", ["index.js", "late.js", "package.json"])
def test_installed_packages_without_a_lock_count_file_by_file(change: str, tmp_path: Path) -> None:
    made = commanded(tmp_path, "cat node_modules/left/* > $FABRIC_OUT_DIR/index.js")
    package = made.root / "node_modules/left"
    write(package, {"index.js": "1", "package.json": '{"version": "1.0.0"}'})
    assert (ran(made), ran(made)) == (1, 0)
    write(package, {change: "2"})
    assert (ran(made), ran(made)) == (1, 0)
    write(made.root / "node_modules", {".cache/tool/x": "1"})
    assert ran(made) == 0


def test_unreadable_files_do_not_fail_the_build(tmp_path: Path) -> None:
    made = commanded(tmp_path)
    os.mkfifo(made.root / "pipe")
    (made.root / "dangling").symlink_to("nowhere")
    assert (ran(made), ran(made)) == (1, 0)


def test_lock_file_represents_installed_packages(tmp_path: Path) -> None:
    made = commanded(tmp_path)
    write(made.root, {"package-lock.json": "{}", "node_modules/left/index.js": "1"})
    assert (ran(made), ran(made)) == (1, 0)
    write(made.root, {"node_modules/left/index.js": "2"})
    assert ran(made) == 0
    write(made.root, {"package-lock.json": "{ }"})
    assert ran(made) == 1


def test_file_created_by_a_command_is_not_an_input_of_that_run(tmp_path: Path) -> None:
    """A file of its own making is met by the next run; equal bytes in it are no change."""
    made = commanded(tmp_path, f"{COPY}; echo made > made.txt")
    assert [ran(made) for _ in range(3)] == [1, 1, 0]
    assert "Nothing to do" in made.fabric("build").out


def test_an_input_that_changes_while_a_command_runs_is_used_and_not_remembered(
    tmp_path: Path,
) -> None:
    made = commanded(tmp_path, f"{COPY}; echo 2 > other.txt; touch one.js", **{"other.txt": "1"})
    done = made.fabric("build")
    assert done.code == 0
    assert "[build/input-moved]" in done.err + done.out
    assert "other.txt changed while it ran" in done.err + done.out
    assert (ran(made), ran(made)) == (1, 0)


def test_a_command_with_nothing_to_read_is_run_once(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/hello.js": ""})
    inputs = node("src/hello.js", command=("sh", "-c", "echo 1 > $FABRIC_OUT_DIR/out"))
    built = Runtimes(tmp_path, {"PATH": os.defpath}, install=False).build(tmp_path, inputs)
    assert unchanged(tmp_path, built.seen, digests(tmp_path, built.seen))


def test_a_build_that_failed_took_its_time(tmp_path: Path) -> None:
    made = project(tmp_path)
    text = (made.root / "fabric.yml").read_text()
    made.write({"fabric.yml": f"{text}build: {{command: [sh, -c, 'sleep 0.02; exit 3']}}\n"})
    done = made.json("build")
    assert done.code == 1
    assert done.document["result"]["summary"]["ms"] >= 20


def test_a_script_of_tools_runs_once_in_each_run(tmp_path: Path) -> None:
    """Its file stays the same, and another file decides what it prints."""
    script = f"#!/bin/sh\necho x >> {tmp_path}/runs\ncat {tmp_path}/version\n"
    write(tmp_path, {"version": "1", "tool": script})
    (tmp_path / "tool").chmod(0o755)
    config = (
        "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs20.x}\n"
        f"build: {{command: [sh, -c, '{COPY}'], tools: [[{tmp_path}/tool, --version]]}}\n"
        "functions: [{name: one, entry: one.js}, {name: two, entry: one.js}]\n"
    )
    made = project(tmp_path / "shop", config, {"one.js": "1"})
    results = [ran(made), ran(made)]
    write(tmp_path, {"version": "2"})
    assert [*results, ran(made), ran(made)] == [2, 0, 2, 0]
    assert (tmp_path / "runs").read_text().count("x") == 4
