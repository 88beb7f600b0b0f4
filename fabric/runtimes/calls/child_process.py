"""The process of a child and its pipes."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.system.event_loop import EventLoop
from fabric.system.process.process import start_child

CHUNK = 1 << 18


class ChildStart(Struct, frozen=True):
    """The command of a child, and the line that describes its function."""

    argv: tuple[str, ...]
    folder: Path
    env: Mapping[str, str]
    said: bytes
    seconds: float
    # A limit in MB; 0 means none.
    memory: int = 0
    # Stops the process between two calls.
    freezes: bool = False
    # Calls it through a Lambda Runtime API, with this ARN.
    is_bootstrap: bool = False
    resource: str = ""


def start_process(
    start: ChildStart, more: Sequence[str] = (), pass_fds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start the process with further arguments."""
    process = start_child(
        [*start.argv, *more],
        cwd=start.folder,
        env=start.env,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        pass_fds=pass_fds,
    )
    os.set_blocking(get_output_fd(process), False)
    return process


def get_output_fd(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None  # noqa: S101 - it is piped
    return process.stdout.fileno()


def watch_end(loop: EventLoop, process: subprocess.Popen[bytes], call: Callable[[], None]) -> int:
    """Return a descriptor that is ready once the child has ended, or -1 if it must be polled."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fd = os.pidfd_open(process.pid)
            loop.watch(fd, call)
            return fd

    def look() -> None:
        if process.poll() is None:
            loop.later(0.02, look)
        call()

    look()
    return -1


def read_some(fd: int) -> bytes | None:
    """Read available bytes, or return None if there are none yet."""
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return None


def read_memory_use(pid: int) -> int:
    """Return the bytes that a process uses; 0 if the system does not report it."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            pages = file.read().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
