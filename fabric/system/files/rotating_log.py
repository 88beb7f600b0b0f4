"""A log of a few bounded files, readable only by its owner."""

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from fabric.system.files.disk import make_private, read_bytes, set_mode, write_all, write_problem

_LARGEST = 10 * 1024 * 1024
_FILES = 3
_STREAMS = (1, 2)
_END = 8192


class RotatingLog:
    """A log. `path` is the newest file, `path.1` the previous one.

    With `has_streams`, the process's stdout and stderr are written to the newest file too.
    """

    def __init__(
        self, path: Path, *, largest: int = _LARGEST, files: int = _FILES, has_streams: bool = False
    ) -> None:
        self._path, self._largest, self._files = path, largest, files
        self._has_streams = has_streams
        self._lock = threading.Lock()
        self._fd = self._open_file()

    def write(self, line: str) -> None:
        """Write a line. A failed write loses the line, because logging must not stop other work."""
        content = f"{line}\n".encode("utf-8", "backslashreplace")
        with self._lock, contextlib.suppress(OSError):
            self._follow_others()
            if self._is_full(content):
                with _hold_lock(self._fd):
                    # Somebody else may have been quicker.
                    self._follow_others()
                    if self._is_full(content):
                        self._rotate()
            write_all(self._fd, content)

    def close(self) -> None:
        with self._lock:
            os.close(self._fd)

    def _open_file(self) -> int:
        fd = open_log(self._path)
        if self._has_streams:
            for stream in _STREAMS:
                os.dup2(fd, stream)
        return fd

    def _is_full(self, content: bytes) -> bool:
        size = os.fstat(self._fd).st_size
        return bool(size) and size + len(content) > self._largest

    def _follow_others(self) -> None:
        """Switch to the newest file after another process has rotated the log."""
        try:
            there = self._path.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        if not os.path.samestat(there, os.fstat(self._fd)):
            self._reopen_file()

    def _reopen_file(self) -> None:
        before, self._fd = self._fd, self._open_file()
        os.close(before)

    def _rotate(self) -> None:
        for number in range(self._files - 1, 0, -1):
            older = build_numbered_path(self._path, number - 1)
            if older.exists():
                older.replace(build_numbered_path(self._path, number))
        self._reopen_file()


@contextlib.contextmanager
def _hold_lock(fd: int) -> Iterator[None]:
    """Hold the lock with a separate descriptor: the log's own can belong to another file at the
    end."""
    own = os.dup(fd)
    try:
        fcntl.flock(own, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(own, fcntl.LOCK_UN)
        os.close(own)


def build_numbered_path(path: Path, number: int) -> Path:
    """Return the path of a log file by number; the newest is 0."""
    return path.with_name(f"{path.name}.{number}") if number else path


def open_log(path: Path) -> int:
    """Open a log for appending."""
    make_private(path.parent, durable=False)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, flags, 0o600)
        set_mode(fd, 0o600)
    except OSError as error:
        raise write_problem(path, error) from error
    return fd


def read_last_lines(path: Path, most: int) -> list[str]:
    try:
        content = read_bytes(path)[-_END:]
    except OSError:
        return []
    return content.decode("utf-8", "replace").splitlines()[-most:]
