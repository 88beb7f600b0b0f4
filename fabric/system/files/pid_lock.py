"""A lock that a process holds until it ends, however it ends; its file identifies the holder."""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from fabric.system.files.disk import make_private_file, read_bytes, write_all, write_problem

# Whoever looks who holds it has it for an instant as well, together with others who look.
_TRIES, _PAUSE_SECONDS = 20, 0.01


class LifeLock:
    """A held lock. The file is never deleted: otherwise two holders could lock two files of one
    name."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @staticmethod
    def take(path: Path, pause: Callable[[float], None] = time.sleep) -> "LifeLock | None":
        """Take the lock. None if another process holds it, ignoring brief checks by readers."""
        make_private_file(path)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise write_problem(path, error) from error
        if not _is_locked_soon(fd, pause):
            os.close(fd)
            return None
        os.ftruncate(fd, 0)
        return LifeLock(fd)

    def say(self, content: bytes) -> None:
        """Write the text that others read while the lock is held."""
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        write_all(self._fd, content)

    def __enter__(self) -> "LifeLock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear the text before the next holder can take the lock."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
        os.close(self._fd)


def read_holder(path: Path) -> bytes | None:
    """Return the holder's text. None if the lock is free: then the text of the file is outdated."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:  # told as a path that we may not open
        raise
    except OSError as error:
        raise write_problem(path, error) from error
    try:
        return None if _is_locked(fd, fcntl.LOCK_SH) else read_bytes(path)
    finally:
        os.close(fd)


def _is_locked_soon(fd: int, pause: Callable[[float], None]) -> bool:
    for _ in range(_TRIES):
        if _is_locked(fd):
            return True
        pause(_PAUSE_SECONDS)
    return False


def _is_locked(fd: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True
