"""A cache that cannot be written, and things that are no files in place of fabric's own: what can
be done is done, the rest is said, nothing hangs."""

import os
import sys
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import PYTHON_SOURCES, Done, Project, ended, environment
from tests.support.unprivileged import read_only, started_unprivileged

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


def test_read_only_cache_content_is_verified(tmp_path: Path) -> None:
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
def test_special_files_in_outputs_do_not_block(tmp_path: Path, kind: str) -> None:
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
def test_special_files_as_inputs_do_not_block(tmp_path: Path, kind: str) -> None:
    for name in ("fabric.yml", ".env", ".fabricignore", "src/one.py", "src/shared.py"):
        made = project(tmp_path / name.replace("/", "-"))
        path = made.root / name
        path.unlink(missing_ok=True)
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
        for words in (("plan",), ("deploy",)):
            done = made.json(*words)
            assert "internal/error" not in done.out + done.err, (name, words)
