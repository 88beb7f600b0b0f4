"""Which process this is, so that another one on the same host can prove it dead."""

import getpass
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """`started` is in clock ticks since boot: with boot and namespace it names a process for good.

    Empty texts and 0 where the system does not tell: nothing is proved from these.
    """

    user: str
    host: str
    pid: int
    boot: str = ""
    namespace: str = ""
    started: int = 0

    @property
    def who(self) -> str:
        return f"{self.user}@{self.host}"


def this_process() -> Process:
    pid = os.getpid()
    return Process(_user(), os.uname().nodename, pid, _boot(), _namespace(), _started(pid))


def is_surely_dead(other: Process) -> bool:
    """Only with proof: the same boot, the same pid namespace, and no such process in it."""
    if not (other.boot and other.namespace and other.started):
        return False
    if (other.boot, other.namespace) != (_boot(), _namespace()):
        return False
    return _started(other.pid) != other.started


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _started(pid: int) -> int:
    """When a process began; 0 when there is none, or only a corpse that nobody has fetched."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in ("Z", "X") else int(fields[19])
