"""File names of any bytes, and modes that are what they were meant to be, for every user."""

import contextlib
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.runtimes.build import Runtimes
from fabric.runtimes.include import collect_included
from tests.support.in_process import project
from tests.support.project import PYTHON, PYTHON_SOURCES, Project
from tests.support.runtimes_project import node, python, write

FOREIGN = os.fsdecode(b"caf\xe9.txt")
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: RUNTIME}
functions: [{name: one, entry: src/one.ENDING, EXTRA}]
"""
INCLUDE = "include: [data/**]"


def with_foreign_name(tmp_path: Path, extra: str = INCLUDE, tail: str = "") -> Project:
    config = CONFIG.replace("RUNTIME", "python3.11").replace("ENDING", "handler")
    config = config.replace("EXTRA", extra) + tail
    made = project(tmp_path / "shop", config, {"src/one.py": "handler = 1\n"})
    (made.root / "data").mkdir()
    (made.root / "data" / FOREIGN).write_text("x")
    return made


def test_a_name_that_no_archive_can_hold_is_refused_by_name(tmp_path: Path) -> None:
    made = with_foreign_name(tmp_path)
    error = made.json("package").error
    assert error["code"] == "build/bad-name"
    assert r"data/caf\xe9.txt" in error["message"]
    assert r"data/caf\xe9.txt" in made.fabric("package").err


def test_file_name_unsupported_by_archives_is_a_regular_input(tmp_path: Path) -> None:
    command = "build: {command: [sh, -c, 'cat data/* > $FABRIC_OUT_DIR/out']}\n"
    made = with_foreign_name(tmp_path, "triggers: []", command)
    counts = [made.json("package").result["summary"]["ran"] for _ in range(2)]
    (made.root / "data" / FOREIGN).write_text("y")
    assert counts == [2, 0]
    assert made.json("plan", "--for", "package").result["summary"]["run"] == 1
    assert made.json("package").result["summary"]["ran"] == 2
    assert "Nothing to do" in made.fabric("package").out


@pytest.mark.parametrize(("runtime", "ending"), [("python3.11", "handler"), ("nodejs20.x", "js")])
def test_a_project_in_a_folder_of_any_name_is_built_or_refused_by_name(
    runtime: str, ending: str, tmp_path: Path
) -> None:
    config = CONFIG.replace("RUNTIME", runtime).replace("ENDING", ending).replace(", EXTRA", "")
    sources = {"src/one.py": "handler = 1\n", "src/one.js": "exports.handler = 1;\n"}
    made = project(tmp_path / FOREIGN, config, sources)
    if runtime.startswith("python"):
        assert made.json("package").result["summary"]["ran"] == 2
        assert "Nothing to do" in made.fabric("package").out
    else:
        error = made.json("package").error
        assert (error["code"], r"caf\xe9.txt" in error["message"]) == ("build/bad-name", True)


@contextlib.contextmanager
def umask_of(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("umask", ["000", "022", "077", "177"])
def test_output_modes_are_independent_of_umask(umask: str, tmp_path: Path) -> None:
    config = PYTHON.replace("one.handler}", "one.handler, include: [run.sh]}")
    made = project(tmp_path / "shop", config, {**PYTHON_SOURCES, "run.sh": "#!/bin/sh\n"})
    (made.root / "run.sh").chmod(0o755)
    with umask_of(int(umask, 8)):
        assert made.fabric("package").code == 0
    shown = made.root / ".fabric/build"
    modes = {
        path.relative_to(shown).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in shown.rglob("*")
    }
    assert {mode for name, mode in modes.items() if (shown / name).is_dir()} == {0o700}
    assert {name for name, mode in modes.items() if mode == 0o755 and name.endswith(".sh")} == {
        "shop/one/run.sh"
    }
    assert {mode for name, mode in modes.items() if name.endswith((".py", ".zip"))} == {0o644}
    with zipfile.ZipFile(shown / "shop/one.zip") as bundle:
        assert stat.S_IMODE(bundle.getinfo("run.sh").external_attr >> 16) == 0o755
    assert "Nothing to do" in made.fabric("package").out


@pytest.mark.parametrize(("mode", "runs"), [(0o744, True), (0o655, False), (0o611, False)])
def test_executable_bit_is_taken_from_the_owner_for_every_user(
    mode: int, tmp_path: Path, *, runs: bool
) -> None:
    """To root anything may be run that has any of the bits."""
    write(tmp_path, {"api/run.sh": "", "api/src/hello.js": ""})
    (tmp_path / "api/run.sh").chmod(mode)
    found = collect_included(tmp_path, python(include=("run.sh",)))
    assert [file.executable for file in found.files] == [runs]
    script = f"touch $FABRIC_OUT_DIR/made; chmod {mode:o} $FABRIC_OUT_DIR/made"
    runtimes = Runtimes(tmp_path / "tools", {"PATH": os.defpath}, install=False)
    built = runtimes.build(tmp_path, node("src/hello.js", command=("sh", "-c", script)))
    assert [file.executable for file in built.files] == [runs]
