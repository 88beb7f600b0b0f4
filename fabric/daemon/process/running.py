"""The running daemon of a workspace, according to its lock and the data in it.

`.fabric/daemon.pid` is for people and scripts only.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.system.files.disk import make_private, remove, write_atomic
from fabric.system.files.pid_lock import LifeLock, read_holder
from fabric.system.process.process_identity import Process


class RunningDaemon(Struct, frozen=True):
    process: Process
    address: str
    port: int
    version: str
    started_at: str


class UnknownDaemon(Struct, frozen=True):
    """A process holds the lock but has not identified itself yet."""


class AlreadyRunningError(FabricError):
    """Another daemon won a parallel start."""

    def __init__(self, found: RunningDaemon | UnknownDaemon) -> None:
        self.found = found
        message = "a daemon is already starting"
        if isinstance(found, RunningDaemon):
            message = f"a daemon is already running: process {found.process.pid}, port {found.port}"
        hint = "run: fabricd stop, or fabricd restart"
        super().__init__(Problem("daemon/running", message, hint))


def lock_path(folder: Path) -> Path:
    return folder / ".fabric" / "daemon.lock"


def build_pid_path(folder: Path) -> Path:
    return folder / ".fabric" / "daemon.pid"


def find_running(folder: Path) -> RunningDaemon | UnknownDaemon | None:
    said = read_holder(lock_path(folder))
    if said is None:
        return None
    try:
        return msgspec.json.decode(said, type=RunningDaemon)
    except msgspec.MsgspecError:
        return UnknownDaemon()


@contextlib.contextmanager
def hold_life_lock(folder: Path) -> Iterator[LifeLock]:
    make_private(folder / ".fabric", durable=False)
    lock = LifeLock.take(lock_path(folder))
    if lock is None:
        raise AlreadyRunningError(find_running(folder) or UnknownDaemon())
    with lock:
        try:
            yield lock
        finally:
            remove(build_pid_path(folder))


def tell(lock: LifeLock, folder: Path, daemon: RunningDaemon) -> None:
    """Write the pid file. It contains only the pid, so that `kill $(cat …)` is exact."""
    lock.say(msgspec.json.encode(daemon))
    write_atomic(build_pid_path(folder), f"{daemon.process.pid}\n".encode(), mode=0o600)


class StartNote(Struct, frozen=True):
    """How a start went: it serves at a port, another one did already, or it cannot."""

    port: int = 0
    pid: int = 0
    is_other: bool = False
    problems: tuple[Problem, ...] = ()
