"""The identity of a process, with which another process on the same host can prove it dead."""

import contextlib
import functools
import getpass
import hashlib
import os
import re
import signal
import time
from pathlib import Path
from typing import NewType

from msgspec import Struct

Mark = NewType("Mark", str)
_MARK = re.compile(r"([0-9]+)-([0-9]+)-([0-9a-f]{12})")
# Two seconds for a child to end by itself.
_LOOKS, _PAUSE = 40, 0.05


class Process(Struct, frozen=True):
    """A process identity."""

    user: str
    host: str
    pid: int
    boot: str = ""
    namespace: str = ""
    # In clock ticks since boot; with boot and namespace it is unique. Empty texts and 0 mean
    # unknown, and prove nothing.
    started: int = 0

    @property
    def who(self) -> str:
        return f"{self.user}@{self.host}"


def identify_this_process() -> Process:
    return _process(os.getpid())


@functools.cache
def _process(pid: int) -> Process:
    return Process(
        user=_read_user(),
        host=os.uname().nodename,
        pid=pid,
        boot=_read_boot_id(),
        namespace=_read_namespace(),
        started=_read_start_time(pid),
    )


@functools.cache
def _mark(pid: int) -> Mark:
    space = hashlib.sha256(f"{_read_boot_id()} {_read_namespace()} {os.uname().nodename}".encode())
    return Mark(f"{pid}-{_read_start_time(pid)}-{space.hexdigest()[:12]}")


def build_this_mark() -> Mark:
    """Return this process as a short word for file names: pid, start time, and pid namespace."""
    return _mark(os.getpid())


def is_mark_dead(mark: Mark) -> bool:
    """Return whether the process is proven dead: a pid of another boot or namespace proves
    nothing."""
    found = _MARK.fullmatch(mark)
    if found is None or found[3] != build_this_mark().rpartition("-")[2]:
        return False
    pid, started = int(found[1]), int(found[2])
    if started:
        return _read_start_time(pid) != started
    # A system that tells no start has no namespaces either.
    return not _is_there(pid)


def is_mark_alive(mark: Mark) -> bool:
    """Return whether the process is visibly running: one of another namespace is not."""
    found = _MARK.fullmatch(mark)
    is_seen = found is not None and found[3] == build_this_mark().rpartition("-")[2]
    return is_seen and not is_mark_dead(mark)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def is_surely_dead(other: Process) -> bool:
    """Return whether it is proven dead: same boot, same pid namespace, and no such process."""
    if not (other.boot and other.namespace and other.started):
        return False
    if (other.boot, other.namespace) != (_read_boot_id(), _read_namespace()):
        return False
    return _read_start_time(other.pid) != other.started


def is_surely_alive(other: Process) -> bool:
    """Return whether it is proven alive, as above: the process with its pid is the same one."""
    if not (other.boot and other.namespace and other.started):
        return False
    if (other.boot, other.namespace) != (_read_boot_id(), _read_namespace()):
        return False
    return _read_start_time(other.pid) == other.started


def build_children_mark(process: Process) -> tuple[str, str]:
    """Return a variable for children that identifies them after their parent has ended."""
    space = process.namespace.rpartition("[")[2].rstrip("]")
    return "FABRIC_HOLDER", f"{process.pid}-{process.started}-{space}"


def end_orphans(process: Process) -> None:
    """End processes that a dead process left running on this machine: their results have no
    reader."""
    mark = "=".join(build_children_mark(process)).encode()
    for pid in _find_marked(mark):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(OSError):
                os.kill(pid, number)
            if _is_gone(pid):
                break


def _find_marked(mark: bytes) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def _is_gone(pid: int) -> bool:
    for _ in range(_LOOKS):
        if not _read_start_time(pid):
            return True
        time.sleep(_PAUSE)
    return False


def _read_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _read_boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _read_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _read_start_time(pid: int) -> int:
    """Return the start time of a process; 0 if there is none, or only a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in ("Z", "X") else int(fields[19])
