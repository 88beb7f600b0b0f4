"""The process of a child and its pipes."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.system.event_loop import EventLoop
from fabric.system.process import start_child

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


def start_process(start: ChildStart) -> tuple[subprocess.Popen[bytes], int, int]:
    """Start the process. Returns it with the write end for requests and the read end for
    answers."""
    asked, request, answer, answered = _open_pipes()
    try:
        process = start_child(
            [*start.argv, str(asked), str(answered)],
            cwd=start.folder,
            env=start.env,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            pass_fds=(asked, answered),
        )
    except BaseException:
        os.close(request)
        os.close(answer)
        raise
    finally:
        os.close(asked)
        os.close(answered)
    for fd in (request, answer, get_output_fd(process)):
        os.set_blocking(fd, False)
    return process, request, answer


def _open_pipes() -> tuple[int, int, int, int]:
    try:
        asked, request = os.pipe()
        try:
            return (asked, request, *os.pipe())
        except OSError:
            os.close(asked)
            os.close(request)
            raise
    except OSError as error:
        message = f"cannot start a process: {(error.strerror or str(error)).lower()}"
        hint = "increase the limit of open files (ulimit -n), or use fewer --instances"
        raise FabricError(Problem("process/cannot-start", message, hint)) from error


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
