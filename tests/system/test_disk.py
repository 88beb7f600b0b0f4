"""Locks of files: exclusive, waited for, and not waited for without end."""

import threading
from pathlib import Path

import pytest

from fabric.model.problems import ExitCode, FabricError
from fabric.system.disk import lock_file


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
