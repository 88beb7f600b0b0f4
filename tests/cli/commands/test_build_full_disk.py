"""A cache that cannot be written, a disk that is full, and things that are no files in place of
fabric's own: what can be done is done, the rest is said, nothing hangs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.in_process import in_process, project
from tests.support.project import PYTHON, PYTHON_SOURCES, Done, Project, ended, environment
from tests.support.unprivileged import read_only, started_unprivileged
from tests.support.users import is_root

_COMMANDS = (
    ("plan",),
    ("build",),
    ("deploy",),
    ("releases",),
    ("runs", "list"),
    ("state", "list"),
    ("cache", "stats"),
    ("cache", "verify"),
    ("cache", "prune"),
    ("doctor",),
    ("remove", "--yes"),
)


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Project]:
    """A project on a disk of its own of two megabytes."""
    if not is_root():
        pytest.skip("only root may mount a disk")
    made = Project(tmp_path / "project", tmp_path / "home", in_process)
    made.root.mkdir()
    made.home.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(made.root)]
    subprocess.run(mount, check=True)
    try:
        yield made
    finally:
        subprocess.run(["umount", "-l", str(made.root)], check=True)


def filled(made: Project) -> None:
    with (made.root / "filling").open("ab", buffering=0) as file:
        for size in (1 << 16, 1):
            try:
                while file.write(os.urandom(size)):
                    pass
            except OSError:
                continue


def deployed(made: Project) -> Project:
    """With an output that is a file of its own in the cache."""
    large = "# " + "x" * 100 + "\n"
    sources = {**PYTHON_SOURCES, "src/one.py": PYTHON_SOURCES["src/one.py"] + large * 2_000}
    made.write({"fabric.yml": PYTHON, **sources})
    assert made.fabric("deploy").code == 0
    return made


def test_a_full_disk_can_be_looked_at_and_cleaned(tiny: Project) -> None:
    made = deployed(tiny)
    filled(made)
    assert made.json("cache", "stats").result["bytes"] > 100_000
    assert made.json("cache", "verify").result["removed"] == 0
    assert made.json("plan").code == 0
    assert made.json("cache", "prune", "--max-size", "1K").result["freedBytes"] > 100_000
    made.write({"src/two.py": PYTHON_SOURCES["src/two.py"] + "# edited\n"})
    assert made.fabric("deploy").code == 0


def test_what_is_live_can_be_removed_on_a_full_disk(tiny: Project) -> None:
    made = deployed(tiny)
    filled(made)
    done = made.json("remove", "--yes")
    assert [row["service"] for row in done.result["removed"]] == ["shop"]
    assert "cache/emptied" in done.err
    assert not list(made.root.rglob("*.state.json"))


def test_only_what_fabric_made_makes_room(tiny: Project) -> None:
    shared = tiny.root / "shared"
    (shared / "npm" / "x").mkdir(parents=True)
    shared.chmod(0o700)
    for path in (shared / "tool.db", shared / "npm" / "x" / "y"):
        path.write_text("precious")
    env = {"FABRIC_CACHE_DIR": "shared"}
    tiny.write({"fabric.yml": PYTHON, **PYTHON_SOURCES})
    assert tiny.fabric("deploy", env=env).code == 0
    filled(tiny)
    assert tiny.fabric("remove", "--yes", "--stage", "other", env=env).code == 0
    assert (shared / "memo" / "cache.db").exists()
    assert tiny.fabric("remove", "--yes", env=env).code == 0
    assert (shared / "tool.db").read_text() == "precious"
    assert (shared / "npm" / "x" / "y").read_text() == "precious"


def test_a_build_on_a_full_disk_says_that_it_is_not_remembered(tiny: Project) -> None:
    made = deployed(tiny)
    filled(made)
    done = made.json("build", "--no-cache")
    assert done.code == 0
    assert done.result["summary"]["ran"] == 2
    assert "disk/cache-unusable" in done.err


def test_a_cache_that_may_not_be_written_is_a_warning(tmp_path: Path) -> None:
    made = project(tmp_path)
    cache = tmp_path / "cache"
    cache.mkdir()
    env = environment(made.home, {"FABRIC_CACHE_DIR": str(cache)})
    with read_only(cache):
        for words in (("build",), ("package",), ("deploy",)):
            done = bound(made, env, *words)
            assert done.code == 0, done.err
            assert "cache/not-writable" in done.err
        assert list(cache.iterdir()) == []
    assert len(made.outputs()) > 4


def test_what_is_in_a_cache_that_may_not_be_written_is_not_believed_blindly(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    made.write({"src/two.py": PYTHON_SOURCES["src/two.py"] + "# edited\n"})
    with read_only(made.root / ".fabric" / "cache"):
        done = bound(made, environment(made.home), "build")
    assert done.code == 0
    assert "# edited" in (made.root / ".fabric/build/shop/two/src/two.py").read_text()


def bound(made: Project, env: dict[str, str], *words: str) -> Done:
    command = [sys.executable, "-m", "fabric", *words, "--json"]
    return ended(started_unprivileged(command, made.root, env))


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_nothing_that_is_no_file_is_waited_for(tmp_path: Path, kind: str) -> None:
    """Every file that a deploy leaves becomes a named pipe, or an endless device."""
    made = project(tmp_path)
    assert made.fabric("deploy").code == 0
    files = [path for path in (made.root / ".fabric").rglob("*") if path.is_file()]
    assert len(files) > 12
    for path in files:
        path.unlink()
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    for words in _COMMANDS:
        done = made.json(*words)
        assert "internal/error" not in done.out + done.err, words
        assert "Traceback" not in done.err


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_no_input_that_is_no_file_is_waited_for(tmp_path: Path, kind: str) -> None:
    for name in ("fabric.yml", ".env", ".fabricignore", "src/one.py", "src/shared.py"):
        made = project(tmp_path / name.replace("/", "-"))
        path = made.root / name
        path.unlink(missing_ok=True)
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
        for words in (("plan",), ("deploy",)):
            done = made.json(*words)
            assert "internal/error" not in done.out + done.err, (name, words)
