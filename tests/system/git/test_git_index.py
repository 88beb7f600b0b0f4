"""Which directories git tracks files in, by its index alone."""

from pathlib import Path

import pytest

from fabric.system.git.git_index import is_tracked
from tests.support.git import git as in_project
from tests.support.project import Project


def git(folder: Path, *words: str) -> None:
    in_project(Project(folder, folder), *words)


def repository(folder: Path, *settings: str) -> Path:
    """With files before, in and after `b/cache`, whose names begin alike."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q")
    for one in settings:
        git(folder, "config", *one.split())
    for name in ("a", "b/cach", "b/cache/deep/x", "b/cache-of", "b/cachex", "c/b/cache/y"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_directory_is_tracked_if_the_index_names_a_file_below_it(
    tmp_path: Path, version: str
) -> None:
    top = repository(tmp_path, f"index.version {version}")
    git(top, "add", "a", "b/cach", "b/cache-of", "b/cachex", "c")
    assert not is_tracked(top / "b" / "cache")
    assert is_tracked(top / "c" / "b" / "cache")
    git(top, "add", "b")
    assert is_tracked(top / "b" / "cache")
    git(top, "config", "branch.sha256.remote", "sha256")
    assert is_tracked(top / "b" / "cache")
    git(top, "rm", "-rq", "--cached", "b/cache")
    assert not is_tracked(top / "b" / "cache")


def test_names_with_common_prefixes_are_distinguished(tmp_path: Path) -> None:
    top = repository(tmp_path, "index.version 4")
    for number in range(300):
        path = top / "long" / ("n" * (number % 200)) / f"{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    git(top, "add", "long", "z") if (top / "z").exists() else git(top, "add", "long")
    assert is_tracked(top / "long" / ("n" * 199))
    assert not is_tracked(top / "b" / "cache")


def test_worktrees_and_sha256_repositories_are_supported(tmp_path: Path) -> None:
    top = repository(tmp_path / "main")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "all")
    git(top, "worktree", "add", "-q", str(tmp_path / "other"))
    assert is_tracked(tmp_path / "other" / "b" / "cache")
    modern = tmp_path / "sha256"
    modern.mkdir()
    git(modern, "init", "-q", "--object-format=sha256")
    (modern / "cache").mkdir()
    (modern / "cache" / "x").touch()
    assert not is_tracked(modern / "cache")
    git(modern, "add", "-A")
    assert is_tracked(modern / "cache")


def test_no_repository_and_a_damaged_index_track_nothing(tmp_path: Path) -> None:
    assert not is_tracked(tmp_path / "b" / "cache")
    top = repository(tmp_path)
    git(top, "add", "-A")
    for content in (b"", b"DIRC", b"DIRC\x00\x00\x00\x04\xff\xff\xff\xff", b"x" * 100):
        (top / ".git" / "index").write_bytes(content)
        assert not is_tracked(top / "b" / "cache")
