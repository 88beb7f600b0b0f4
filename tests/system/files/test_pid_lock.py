"""A lock that is held for a life."""

import contextlib
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.system.files.pid_lock import LifeLock, read_holder
from tests.support.until import until

HOLDER = """
import os, sys
from pathlib import Path
from fabric.system.files.pid_lock import LifeLock
lock = LifeLock.take(Path(sys.argv[1]))
lock.say(b"mine")
child = os.spawnvp(os.P_NOWAIT, "sleep", ["sleep", "60"])
print(child, flush=True)
sys.stdin.read()
"""


def test_single_holder_is_readable_from_the_lock(tmp_path: Path) -> None:
    path = tmp_path / ".fabric" / "lock"
    lock = LifeLock.take(path)
    assert lock is not None
    with lock:
        assert read_holder(path) == b""
        lock.say(b"a long word")
        lock.say(b"short")
        assert read_holder(path) == b"short"
        assert LifeLock.take(path) is None
    assert read_holder(path) is None
    again = LifeLock.take(path)
    assert again is not None
    with again:
        assert read_holder(path) == b""


def test_file_without_a_holder_names_no_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert read_holder(path) is None
    path.write_text("somebody")
    assert read_holder(path) is None


def test_reader_does_not_block_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch(mode=0o600)
    with contextlib.ExitStack() as looking:
        fcntl.flock(looking.enter_context(path.open()), fcntl.LOCK_SH)
        lock = LifeLock.take(path, lambda _seconds: looking.close())
        assert lock is not None
        lock.__exit__(None, None, None)


def test_held_lock_is_awaited_for_at_most_a_fifth_of_a_second(tmp_path: Path) -> None:
    paused: list[float] = []
    lock = LifeLock.take(tmp_path / "lock", paused.append)
    assert lock is not None
    with lock:
        assert paused == []
        assert LifeLock.take(tmp_path / "lock", paused.append) is None
    assert 0.1 < sum(paused) < 0.3


def test_lock_file_is_private_and_symlinks_are_not_followed(tmp_path: Path) -> None:
    lock = LifeLock.take(tmp_path / "lock")
    assert lock is not None
    with lock:
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    (tmp_path / "elsewhere").write_text("untouched")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FabricError):
        LifeLock.take(tmp_path / "link")
    assert (tmp_path / "elsewhere").read_text() == "untouched"


def test_lock_ends_with_its_killed_holder_despite_children(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin
    assert holder.stdout
    child = int(holder.stdout.readline())
    assert read_holder(path) == b"mine"
    holder.kill()
    holder.wait()
    try:
        # A child that is only being started lets go of it in a moment.
        until(lambda: read_holder(path) is None)
    finally:
        os.kill(child, 9)
        holder.stdin.close()
        holder.stdout.close()
