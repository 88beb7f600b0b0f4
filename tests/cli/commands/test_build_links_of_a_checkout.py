"""A checkout may bring `.fabric` with links in it: what they lead to is nobody's to sweep."""

import os
from pathlib import Path

import pytest

from tests.support.in_process import project

_OLD = (1_000_000_000, 1_000_000_000)
_COMMANDS = (
    ("plan",),
    ("build",),
    ("deploy",),
    ("cache", "verify"),
    ("cache", "prune", "--max-size", "0"),
    ("state", "list"),
    ("doctor",),
    ("remove", "--yes"),
)
_PLACES = (
    "payloads",
    "cache/running",
    "cache/answers",
    "cache/blobs",
    "cache/memo",
    "cache/locks",
    "unsure",
    "errored",
    "wal",
)


def filled(folder: Path) -> dict[str, str]:
    """A folder of somebody's, with old files and names that look like ours."""
    names = (
        "Documents/thesis.txt",
        "letter.txt",
        "ab/notes.txt",
        "12-34-0123456789ab.abcdefgh.txt/file",
        "cache.db.mine",
        "999.txt",
    )
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    for path in (folder, *folder.rglob("*")):
        os.utime(path, _OLD)
    return content(folder)


def content(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(errors="replace") for path in paths}


@pytest.mark.parametrize("place", _PLACES)
def test_nothing_behind_a_link_is_swept(tmp_path: Path, place: str) -> None:
    made = project(tmp_path)
    theirs = tmp_path / "theirs"
    before = filled(theirs)
    link = made.root / ".fabric" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(theirs)
    for words in _COMMANDS:
        done = made.fabric(*words)
        assert "internal/error" not in done.err
        assert before.items() <= content(theirs).items(), words


def test_planted_marker_cannot_delete_files_of_other_folders(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    mine = theirs / ".x.3e7-0-deadbeef.tmp"
    mine.write_text("mine")
    os.utime(mine, _OLD)
    marker = made.root / ".fabric/cache/running/999-1-000000000000-deadbeef"
    marker.write_text(f'["{theirs}", "/"]')
    os.utime(marker, _OLD)
    assert made.fabric("build", "--no-cache").code == 0
    assert mine.read_text() == "mine"


def test_only_folders_of_payloads_are_swept(tmp_path: Path) -> None:
    made = project(tmp_path)
    before = filled(made.root / ".fabric" / "payloads")
    assert made.fabric("deploy").code == 0
    assert content(made.root / ".fabric" / "payloads") == before


def test_shared_cache_folder_keeps_foreign_files(tmp_path: Path) -> None:
    """On a full disk the cache is emptied: of what fabric made."""
    made = project(tmp_path)
    shared = tmp_path / "shared"
    before = filled(shared)
    shared.chmod(0o700)
    env = {"FABRIC_CACHE_DIR": str(shared)}
    assert made.fabric("deploy", env=env).code == 0
    for words in (("cache", "verify"), ("cache", "prune", "--max-size", "0"), ("remove", "--yes")):
        assert made.fabric(*words, env=env).code == 0
    assert before.items() <= content(shared).items()
