"""Locks of files: exclusive, waited for, and not waited for without end. Directories of writers."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fabric.model.problems import ExitCode, FabricError
from fabric.system.files.append_log import AppendLog, read_lines
from fabric.system.files.disk import lock_file, remove_empty_folders, write_atomic


def test_a_lock_of_files_that_is_not_given_back_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with lock_file(path), pytest.raises(FabricError) as caught, lock_file(path, 0.05):
        raise AssertionError("two hold it")
    assert caught.value.first.code == "lock/file-held"
    assert caught.value.exit_code is ExitCode.LOCKED


def test_waiter_gets_the_released_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    got = threading.Event()

    def wait() -> None:
        with lock_file(path):
            got.set()

    with lock_file(path):
        waiter = threading.Thread(target=wait)
        waiter.start()
        assert not got.wait(0.05)
    assert got.wait(10)
    waiter.join()


def test_a_lock_is_free_after_a_failure_under_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with pytest.raises(KeyError), lock_file(path):
        raise KeyError
    with lock_file(path, 0.05):
        assert path.exists()


def test_writers_that_delete_emptied_directories_do_not_stop_each_other(tmp_path: Path) -> None:
    def write(name: str) -> int:
        folder = tmp_path / ".fabric/wal/shop" / name
        log, content = folder / "1.log", folder / "1.json"
        for _ in range(100):
            journal = AppendLog(log)
            journal.append("entry", durable=False)
            journal.close()
            assert read_lines(log) == ["entry"]
            log.unlink()
            write_atomic(content, b"{}")
            content.unlink()
            remove_empty_folders(folder, tmp_path)
        return 100

    with ThreadPoolExecutor(4) as pool:
        assert (
            list(pool.map(write, ("dev/host1", "dev/host2", "prod/host1", "prod/host2")))
            == [100] * 4
        )
