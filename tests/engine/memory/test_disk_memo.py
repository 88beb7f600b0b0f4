"""The memo on disk: what was written is read, whatever happened to it is a miss or has a name."""

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.cache_seal import CacheSeal
from fabric.engine.memory.disk_memo import DiskMemo
from fabric.engine.memory.memo import LazyMemo, Memo, NoMemo
from fabric.engine.memory.read_only_memo import ReadOnlyMemo
from fabric.model.problems import FabricError, Problem
from tests.support.seals import SEAL

ROWS = {"t:a": b"one", "t:b": b"two", "u:c": b"three"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A memo with three rows."""
    memo = DiskMemo(tmp_path / "memo", SEAL)
    assert memo.put_all(ROWS)
    memo.close()
    return tmp_path / "memo"


def changed(folder: Path, *statements: str) -> None:
    """What another program does to the database."""
    with sqlite3.connect(folder / "cache.db") as database:
        for statement in statements:
            database.execute(statement)
    database.close()


OPENERS: dict[str, Callable[[Path, CacheSeal], DiskMemo | ReadOnlyMemo]] = {
    "to write": DiskMemo,
    "to read": ReadOnlyMemo,
}


@pytest.mark.parametrize("opener", OPENERS)
def test_written_rows_are_read(opener: str, folder: Path) -> None:
    memo = OPENERS[opener](folder, SEAL)
    assert {key: memo.get_bytes(key) for key in memo.keys()} == ROWS  # noqa: SIM118: no mapping
    assert memo.get_range("t:") == {"t:a": b"one", "t:b": b"two"}
    assert [(key, when > 0) for key, _, when in memo.sizes("u:")] == [("u:c", True)]
    assert memo.is_sound("t:a")
    memo.close()


@pytest.mark.parametrize("opener", OPENERS)
def test_a_row_that_was_changed_is_a_miss(opener: str, folder: Path) -> None:
    changed(folder, "UPDATE Cache SET value = x'00' WHERE key = 't:a'")
    memo = OPENERS[opener](folder, SEAL)
    assert (memo.get_bytes("t:a"), memo.is_sound("t:a")) == (None, False)
    assert memo.get_range("t:") == {"t:b": b"two"}
    memo.close()


@pytest.mark.parametrize("opener", OPENERS)
def test_a_pickled_row_is_a_miss_and_is_not_loaded(opener: str, folder: Path) -> None:
    changed(folder, "UPDATE Cache SET mode = 4 WHERE key = 't:a'")
    memo = OPENERS[opener](folder, SEAL)
    assert memo.get_bytes("t:a") is None
    assert memo.get_range("t:") == {"t:b": b"two"}
    memo.close()


def test_dropped_table_reads_as_empty_and_is_recreated(folder: Path) -> None:
    memo = DiskMemo(folder, SEAL)
    changed(folder, "DROP TABLE Cache")
    assert memo.get_bytes("t:a") is None
    assert (memo.get_range("t:"), memo.keys(), memo.sizes("t:")) == ({}, [], [])
    memo.drop("t:a")
    assert memo.put_all({"t:d": b"four"})
    assert memo.get_bytes("t:d") == b"four"
    memo.close()
    assert (folder / "cache.db.damaged").exists()


def test_file_that_is_not_a_database_is_moved_aside(folder: Path) -> None:
    (folder / "cache.db").write_bytes(b"no database" * 1000)
    assert ReadOnlyMemo(folder, SEAL).get_bytes("t:a") is None
    memo = DiskMemo(folder, SEAL)
    assert memo.get_bytes("t:a") is None
    assert memo.put_all(ROWS)
    memo.close()
    assert (folder / "cache.db.damaged").exists()


def test_special_file_is_not_opened_for_reading(folder: Path) -> None:
    (folder / "cache.db").unlink()
    os.mkfifo(folder / "cache.db")
    assert ReadOnlyMemo(folder, SEAL).keys() == []


def test_unusable_memo_reports_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "memo" / "cache.db").mkdir(parents=True)
    (tmp_path / "memo" / "cache.db.damaged").mkdir()
    (tmp_path / "memo" / "cache.db.damaged" / "in the way").touch()
    with pytest.raises(FabricError) as caught:
        DiskMemo(tmp_path / "memo", SEAL)
    assert caught.value.first.code == "disk/cache-unusable"
    assert "FABRIC_CACHE_DIR" in caught.value.first.hint


def test_locked_memo_is_not_moved_aside(folder: Path) -> None:
    memo = DiskMemo(folder, SEAL)
    memo.close()
    (folder / "stamp").unlink()
    (folder / "stamp").mkdir()
    assert not memo.put_all({"t:d": b"four"})
    assert memo.failure is not None
    assert memo.failure.code == "disk/cache-unusable"
    memo.close()
    assert not (folder / "cache.db.damaged").exists()


def test_without_a_memo_nothing_is_remembered() -> None:
    memo = NoMemo()
    assert (memo.get_bytes("t:a"), memo.get_range("t:"), memo.sizes("t:")) == (None, {}, [])
    assert (memo.keys(), memo.is_sound("t:a"), memo.failure) == ([], True, None)
    assert memo.put_all({})
    assert not memo.put_all(ROWS)
    memo.drop("t:a")
    memo.close()


def test_lazy_memo_is_opened_once_on_first_use(folder: Path) -> None:
    opened: list[str] = []

    def now() -> Memo:
        opened.append("now")
        return DiskMemo(folder, SEAL)

    memo = LazyMemo(now)
    memo.close()
    assert (opened, memo.failure) == ([], None)
    assert memo.get_bytes("t:a") == b"one"
    assert memo.get_range("u:") == {"u:c": b"three"}
    assert memo.put_all({"t:d": b"four"})
    memo.drop("t:a")
    assert memo.get_bytes("t:a") is None
    memo.close()
    assert (opened, memo.failure) == (["now"], None)


def test_read_only_memo_stores_its_reason(folder: Path) -> None:
    problem = Problem("disk/cache-unusable", "it may not")
    memo = ReadOnlyMemo(folder, SEAL, problem)
    assert memo.failure == problem
    assert not memo.put_all(ROWS)


def test_memo_waits_for_another_writer(folder: Path) -> None:
    other = sqlite3.connect(folder / "cache.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    memo = DiskMemo(folder, SEAL)
    timer = threading.Timer(0.25, other.rollback)
    timer.start()
    assert memo.put_all({"t:a": b"new"})
    assert (memo.get_bytes("t:a"), memo.failure) == (b"new", None)
    timer.join()
    other.close()
    memo.close()


def test_closed_memo_is_not_taken_for_a_damaged_one(folder: Path) -> None:
    memo = DiskMemo(folder, SEAL)
    memo.close()
    assert not memo.put_all({"t:a": b"new"})
    assert not (folder / "cache.db.damaged").exists()


def test_memo_whose_directory_is_gone_is_reported(folder: Path) -> None:
    memo = DiskMemo(folder, SEAL)
    changed(folder, "DROP TABLE Cache")
    shutil.rmtree(folder)
    folder.write_text("a file in its place")
    assert not memo.put_all({"t:a": b"new"})
    assert memo.failure is not None
    assert memo.failure.code == "disk/cache-unusable"
    memo.close()
