"""Looking after a cache: what is damaged or unused goes, what others keep there stays."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from fabric import manifest
from fabric.engine.memory.blobs import SMALL, Blobs
from fabric.engine.memory.cleanup import Housekeeping, Pruned, Verified, make_room, prune
from fabric.engine.memory.daily_cleanup import prune_daily
from fabric.engine.memory.disk_memo import DiskMemo
from fabric.engine.memory.memo import STAMP, NoMemo
from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError, Problem
from fabric.runtimes.commands.build_caches import open_caches
from tests.support.seals import SEAL, sealed

LARGE = b"large" * SMALL
OTHER = b"other" * SMALL
DAY = 86_400


@contextmanager
def opened(folder: Path) -> Iterator[Blobs]:
    with closing(DiskMemo(folder / "memo", SEAL)) as memo:
        blobs = Blobs(folder / "blobs", memo)
        yield blobs
        blobs.flush()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Two contents in files, one in a row, an index and a stored answer."""
    with opened(tmp_path) as blobs:
        for content in (LARGE, OTHER, b"small"):
            blobs.put(content)
    (tmp_path / "files-0.bin").write_bytes(SEAL.seal("files-0.bin", b"index"))
    answers = tmp_path / manifest.FOLDER
    answers.mkdir()
    (answers / f"{'0' * 16}.bin.warm").write_bytes(SEAL.seal(f"{'0' * 16}.bin.warm", b"warm"))
    return tmp_path


def file_of(cache: Path, content: bytes) -> Path:
    digest = hash_bytes(content)
    return cache / "blobs" / digest[:2] / digest


def verified(cache: Path) -> Verified:
    with closing(Housekeeping(sealed(cache))) as house:
        return house.verify()


def test_valid_entries_stay(cache: Path) -> None:
    assert verified(cache) == Verified(5, 0)
    with closing(Housekeeping(sealed(cache))) as house:
        assert sorted(one.size for one in house.blobs() if one.in_file) == [len(LARGE)] * 2
        assert [one.in_file for one in house.blobs()].count(False) == 1
        assert house.records() == 0


def test_damaged_entries_are_deleted_with_stored_plans(cache: Path) -> None:
    stamp = cache / "memo" / STAMP
    before = stamp.stat().st_ino
    file_of(cache, LARGE).write_bytes(b"damaged")
    (cache / "files-0.bin").write_bytes(b"damaged")
    (cache / manifest.FOLDER / f"{'1' * 16}.bin").write_bytes(b"damaged")
    os.mkfifo(cache / manifest.FOLDER / f"{'2' * 16}.bin")
    assert verified(cache) == Verified(7, 4)
    assert stamp.stat().st_ino != before
    assert verified(cache) == Verified(3, 0)


def test_a_content_in_a_row_is_read_too(cache: Path) -> None:
    with closing(DiskMemo(cache / "memo", SEAL)) as memo:
        assert memo.put_all({f"b:{hash_bytes(b'small')}": b"another", "t:x": b"record"})
    assert verified(cache) == Verified(6, 1)


def test_temporary_file_of_a_killed_writer_is_deleted(cache: Path) -> None:
    left = file_of(cache, LARGE).parent / ".half.tmp"
    left.write_bytes(b"ha")
    foreign = left.with_name("README")
    foreign.write_bytes(b"of somebody else")
    assert verified(cache).removed == 1
    assert not left.exists()
    assert foreign.exists()


def test_a_cache_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert verified(tmp_path / "nowhere") == Verified(0, 0)
    assert not (tmp_path / "nowhere").exists()


def test_least_recently_used_entries_are_deleted_first(cache: Path) -> None:
    os.utime(file_of(cache, OTHER), (DAY, DAY))
    with closing(Housekeeping(sealed(cache))) as house:
        found = prune(house, keep_bytes=len(LARGE) + 100, oldest=0)
    assert found == Pruned(1, len(OTHER), len(LARGE) + len(b"small") + 32)
    assert (file_of(cache, LARGE).exists(), file_of(cache, OTHER).exists()) == (True, False)


def test_kept_directories_of_build_tools_count_and_are_deleted(cache: Path) -> None:
    with open_caches(cache / "tools", (("GOCACHE", "go"),), cache) as found:
        Path(found["GOCACHE"], "object").write_bytes(b"x" * 500)
    os.utime(cache / "tools" / "go.lock", (DAY, DAY))
    with closing(Housekeeping(sealed(cache))) as house:
        found_now = prune(house, keep_bytes=10 * len(LARGE), oldest=2 * DAY)
    assert (found_now.removed, found_now.freed) == (1, 500)
    assert not (cache / "tools" / "go").exists()


def test_files_go_before_rows_and_all_may_go(cache: Path) -> None:
    with closing(Housekeeping(sealed(cache))) as house:
        assert prune(house, keep_bytes=0, oldest=0).removed == 3
        assert list(house.blobs()) == []


def test_make_room_deletes_only_fabric_files(cache: Path) -> None:
    (cache / "precious").write_bytes(b"precious")
    (cache / manifest.FOLDER / "precious").write_bytes(b"precious")
    assert make_room(cache) > 2 * len(LARGE)
    left = [path.name for path in cache.rglob("*") if path.is_file()]
    assert sorted(left) == ["precious", "precious", STAMP]
    assert make_room(cache) == 0


def test_entries_unused_for_months_are_deleted_once_a_day(cache: Path) -> None:
    now = file_of(cache, LARGE).stat().st_mtime
    os.utime(file_of(cache, OTHER), (DAY, DAY))
    prune_daily(sealed(cache), now)
    assert file_of(cache, OTHER).exists(), "a fresh cache is left alone"
    prune_daily(sealed(cache), now + DAY - 1)
    assert file_of(cache, OTHER).exists(), "it is not a day ago"
    prune_daily(sealed(cache), now + DAY + 60)
    assert (file_of(cache, LARGE).exists(), file_of(cache, OTHER).exists()) == (True, False)


def test_a_run_does_not_fail_of_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(NotADirectoryError):
        prune_daily(sealed(tmp_path / "cache"), 0)


class FullMemo(NoMemo):
    failure = Problem("disk/cache-unusable", "no room")


def test_a_content_that_finds_no_room_is_there_for_this_run(tmp_path: Path) -> None:
    (tmp_path / "blobs").touch()
    blobs = Blobs(tmp_path / "blobs", FullMemo())
    digest, small = blobs.put(LARGE), blobs.put(b"small")
    blobs.flush()
    assert (blobs.get(digest), blobs.get(small)) == (LARGE, b"small")
    assert blobs.has(digest, len(LARGE))
    assert blobs.failure is not None
    assert list(Blobs(None, NoMemo()).files()) == []


def test_cleanup_reports_an_unusable_cache_instead_of_success(cache: Path) -> None:
    with closing(DiskMemo(cache / "memo", SEAL)) as memo:
        memo.put_all({"t:x": b"record"})
    (cache / "memo" / "cache.db-wal").unlink(missing_ok=True)
    house = Housekeeping(sealed(cache))
    house.reopen()
    house.close()
    for name in ("cache.db", "cache.db-wal", "cache.db-shm", "cache.db.damaged"):
        (cache / "memo" / name).unlink(missing_ok=True)
        (cache / "memo" / name / "x").mkdir(parents=True)
    house = Housekeeping(sealed(cache))
    with pytest.raises(FabricError) as caught:
        house.reopen()
    assert caught.value.first.code == "disk/cache-unusable"
    house.close()
