"""An in-memory file for child processes, which disappears with the process that created it."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from fabric.system.files.disk import write_all


@contextlib.contextmanager
def create_memory_file(name: str, content: bytes = b"") -> Iterator[int | None]:
    """Yield a descriptor at its beginning; None if the system does not support it."""
    fd = _create_fd(name)
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


def build_shown_path(fd: int) -> Path:
    """Return a path that any process of ours can open repeatedly, even through a child that passes
    on no descriptors."""
    return Path(f"/proc/{os.getpid()}/fd/{fd}")


def read_whole(fd: int) -> bytes:
    """Return the whole content, independent of the position of the descriptor."""
    return os.pread(fd, os.fstat(fd).st_size, 0)


def _create_fd(name: str) -> int | None:
    if sys.platform != "linux" or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.memfd_create(name, os.MFD_CLOEXEC)
    except OSError:
        return None
