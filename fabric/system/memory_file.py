"""A file for children that lies on no disk: it is gone with the process that made it."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from fabric.system.disk import write_all


@contextlib.contextmanager
def memory_file(name: str, content: bytes = b"") -> Iterator[int | None]:
    """A descriptor of it, at its beginning; None where the system has no such thing."""
    fd = _made(name)
    if fd is None:
        yield None
        return
    try:
        os.fchmod(fd, 0o600)
        write_all(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def shown_path(fd: int) -> Path:
    """Where any process of ours may open it, as often as it likes: also what a child starts that
    hands no descriptor on."""
    return Path(f"/proc/{os.getpid()}/fd/{fd}")


def content_of(fd: int) -> bytes:
    """All that is in it, whoever moved its position."""
    return os.pread(fd, os.fstat(fd).st_size, 0)


def _made(name: str) -> int | None:
    if sys.platform != "linux" or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.memfd_create(name, os.MFD_CLOEXEC)
    except OSError:
        return None
