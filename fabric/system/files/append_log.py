"""An append-only file: a line is on the disk before the call returns."""

import contextlib
import errno
import os
import stat
import threading
import zlib
from pathlib import Path

from fabric.system.files.disk import (
    check_no_links,
    read_bytes,
    sync_folder,
    write_all,
    write_in_folder,
    write_problem,
)


class AppendLog:
    """Lines with one checksum each. A line truncated by a crash is not read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._fd: int | None = None
        self._is_named = False

    def open(self, first: str) -> None:
        """Create the file now. Its name is durable then, and its first line with the next write."""
        with self._lock:
            self._write(_frame_line(first), content=False, name=True)

    def append(self, *lines: str, durable: bool = True) -> None:
        """Append a line, durable on return if requested. Raises FabricError on failure."""
        framed = b"".join(map(_frame_line, lines))
        with self._lock:
            self._write(framed, content=durable, name=durable)

    def _write(self, framed: bytes, *, content: bool, name: bool) -> None:
        try:
            if self._fd is None:
                self._fd = self._open_file()
            _write_whole(self._fd, framed, durable=content)
            if name and not self._is_named:
                # The name of a new file is durable only once its folder is. Asked for after
                # the content, whose way to the disk mostly took the name along.
                sync_folder(self._path.parent)
                self._is_named = True
        except OSError as error:
            raise write_problem(self._path, error) from error

    def _open_file(self) -> int:
        check_no_links(self._path.parent)
        # Nobody reads a named pipe in its place: without O_NONBLOCK that would be waited for.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        flags |= os.O_NOFOLLOW
        fd = write_in_folder(
            self._path.parent, lambda: os.open(self._path, flags, 0o600), mode=0o700
        )
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", str(self._path))

    def close(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None


def _frame_line(line: str) -> bytes:
    content = line.encode()
    return b"%08x %s\n" % (zlib.crc32(content), content)


def read_lines(path: Path) -> list[str]:
    """Yield all whole lines up to the first damaged one."""
    try:
        content = read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    lines = []
    for framed in content.split(b"\n")[:-1]:
        checksum, _, line = framed.partition(b" ")
        if checksum != b"%08x" % zlib.crc32(line):
            break
        lines.append(line.decode())
    return lines


def _write_whole(fd: int, content: bytes, *, durable: bool) -> None:
    """Write everything or nothing: lines after a partial one would not be read."""
    before = os.fstat(fd).st_size
    try:
        write_all(fd, content)
        if durable:
            os.fdatasync(fd)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, before)
        raise
