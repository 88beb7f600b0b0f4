"""A disk that is full: what can be done is done, the rest is said.

In processes of their own: the end of one gives back the room of what it deleted.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.project import PYTHON, PYTHON_SOURCES, Project
from tests.support.users import is_root


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Project]:
    """A project on a disk of its own of two megabytes."""
    if not is_root():
        pytest.skip("only root may mount a disk")
    made = Project(tmp_path / "project", tmp_path / "home")
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


def test_live_service_can_be_removed_on_a_full_disk(tiny: Project) -> None:
    made = deployed(tiny)
    filled(made)
    done = made.json("remove", "--yes")
    assert [row["service"] for row in done.result["removed"]] == ["shop"]
    assert "cache/emptied" in done.err
    assert not list(made.root.rglob("*.state.json"))


def test_only_fabric_files_are_deleted_to_make_room(tiny: Project) -> None:
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


def test_build_on_a_full_disk_warns_that_it_is_not_cached(tiny: Project) -> None:
    made = deployed(tiny)
    filled(made)
    done = made.json("build", "--no-cache")
    assert done.code == 0
    assert done.result["summary"]["ran"] == 2
    assert "disk/cache-unusable" in done.err
