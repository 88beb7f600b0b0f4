"""Kept directories of build tools: locks, places and cleanup."""

import threading
from pathlib import Path

from fabric.runtimes.commands.build_caches import (
    FOLDER,
    VERSIONS,
    delete_kept_folder,
    list_kept_folders,
    open_caches,
)

ONE = (("MY_CACHE", "one"),)
SHARED = (("GOCACHE", "go"),)


def waits_for(folder: Path, caches: tuple[tuple[str, str], ...]) -> bool:
    """Whether a second build waits until the first one ends."""
    entered = threading.Event()

    def build() -> None:
        with open_caches(folder, caches, folder):
            entered.set()

    with open_caches(folder, caches, folder):
        second = threading.Thread(target=build)
        second.start()
        is_waiting = not entered.wait(0.3)
    second.join()
    return is_waiting


def test_a_cache_is_below_the_cache_of_the_workspace(tmp_path: Path) -> None:
    with open_caches(tmp_path / FOLDER, ONE, tmp_path / "spare") as found:
        assert found == {"MY_CACHE": str(tmp_path / FOLDER / "one")}
        assert (tmp_path / FOLDER / "one").is_dir()


def test_two_builds_never_use_a_cache_at_once(tmp_path: Path) -> None:
    assert waits_for(tmp_path / FOLDER, ONE)


def test_builds_share_a_cache_whose_tool_locks_it(tmp_path: Path) -> None:
    assert not waits_for(tmp_path / FOLDER, SHARED)


def test_a_cache_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER).chmod(0o777)
    with open_caches(tmp_path / FOLDER, ONE, tmp_path / "spare") as found:
        assert found == {"MY_CACHE": str(tmp_path / "spare" / "one")}


def test_kept_directories_are_listed_with_size_and_last_use(tmp_path: Path) -> None:
    with open_caches(tmp_path / FOLDER, ONE, tmp_path) as found:
        Path(found["MY_CACHE"], "object").write_bytes(b"12345")
    (tmp_path / FOLDER / VERSIONS).mkdir()
    [kept] = list_kept_folders(tmp_path)
    assert (kept.path.name, kept.size, kept.used > 0) == ("one", 5, True)
    assert delete_kept_folder(kept)
    assert list(list_kept_folders(tmp_path)) == []


def test_a_directory_in_use_is_not_deleted(tmp_path: Path) -> None:
    with open_caches(tmp_path / FOLDER, SHARED, tmp_path):
        [kept] = list_kept_folders(tmp_path)
        assert not delete_kept_folder(kept)
    assert delete_kept_folder(kept)
