"""The memo's database is of diskcache's form, and what is planted in it is a miss."""

import sqlite3
from contextlib import closing
from pathlib import Path

import diskcache
import pytest

from fabric.engine.memory.disk_memo import DiskMemo
from tests.support.seals import SEAL

# A dictionary, as diskcache would keep it.
PICKLED = b"\x80\x04}\x94\x8c\x01a\x94K\x01s."
ROWS = {"t:one": b"1", "t:two": b"2" * 70_000, "b:three": b""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    memo = DiskMemo(tmp_path, SEAL)
    assert memo.put_all(ROWS)
    memo.close()
    return tmp_path


def test_rows_come_back_as_they_were_put(folder: Path) -> None:
    memo = DiskMemo(folder, SEAL)
    assert {key: memo.get_bytes(key) for key in ROWS} == ROWS
    assert memo.get_range("t:") == {key: ROWS[key] for key in ("t:one", "t:two")}
    assert memo.put_all({"t:one": b"other"})
    memo.drop("b:three")
    assert sorted(memo.keys()) == ["t:one", "t:two"]
    assert memo.get_bytes("t:one") == b"other"
    assert memo.get_bytes("b:three") is None
    memo.close()


def test_diskcache_finds_nothing_to_complain_of(folder: Path) -> None:
    memo = DiskMemo(folder, SEAL)
    assert memo.put_all({"t:one": b"longer than before"})
    memo.close()
    (folder / "stamp").unlink()
    with closing(diskcache.Cache(str(folder))) as cache:
        assert cache.check() == []
        assert len(cache) == len(ROWS)
        assert cache.get("t:one").endswith(b"longer than before")


def test_rows_that_diskcache_wrote_are_read_and_replaced(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        (sealed,) = database.execute("SELECT value FROM Cache WHERE key = 't:one'").fetchone()
    with closing(diskcache.Cache(str(folder))) as cache:
        cache.set("t:one", sealed, expire=1000, tag="tag")
    memo = DiskMemo(folder, SEAL)
    assert memo.get_bytes("t:one") == b"1"
    assert memo.put_all({"t:one": b"new"})
    assert memo.get_bytes("t:one") == b"new"
    memo.close()


@pytest.mark.parametrize("value", [PICKLED, b"plain", "text", None, 7])
def test_planted_row_is_a_miss_and_is_deleted(folder: Path, value: object) -> None:
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        mode = 4 if value == PICKLED else 1
        row = (mode, value, "t:one")
        database.execute("UPDATE Cache SET mode = ?, value = ? WHERE key = ?", row)
        database.commit()
    memo = DiskMemo(folder, SEAL)
    assert memo.get_bytes("t:one") is None
    assert "t:one" not in memo.keys()  # noqa: SIM118: a memo is no mapping
    memo.close()


@pytest.mark.parametrize("harm", ["cut", "zeros", "empty", "no table", "not a database"])
def test_a_damaged_database_is_put_aside_for_a_new_one(folder: Path, harm: str) -> None:
    path = folder / "cache.db"
    content = path.read_bytes()
    if harm == "no table":
        with closing(sqlite3.connect(path)) as database:
            database.execute("DROP TABLE Cache")
    else:
        texts = {"cut": content[:5000], "zeros": bytes(9000), "empty": b"", "not a database": b"x"}
        path.write_bytes(texts[harm])
    memo = DiskMemo(folder, SEAL)
    memo.get_range("t:")
    assert memo.put_all({"t:one": b"again"})
    assert memo.get_bytes("t:one") == b"again"
    assert memo.failure is None
    memo.close()
