"""Which daemon runs for a workspace. The lock that it holds is the truth, and what it wrote there;
`.fabric/daemon.pid` is for people and scripts, and nobody here reads it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.system.disk import make_private, remove, write_atomic
from fabric.system.life_lock import LifeLock, said_by_holder
from fabric.system.process_identity import Process


class RunningDaemon(Struct, frozen=True):
    process: Process
    address: str
    port: int
    version: str
    started_at: str


class UnknownDaemon(Struct, frozen=True):
    """One holds the lock and has not said yet who it is."""


class AlreadyRunningError(FabricError):
    """Of two at once one wins, and this was the other."""

    def __init__(self, found: RunningDaemon | UnknownDaemon) -> None:
        self.found = found
        message = "a daemon is already starting"
        if isinstance(found, RunningDaemon):
            message = f"a daemon is already running: process {found.process.pid}, port {found.port}"
        hint = "run: fabricd stop, or fabricd restart"
        super().__init__(Problem("daemon/running", message, hint))


def lock_path(folder: Path) -> Path:
    return folder / ".fabric" / "daemon.lock"


def pid_path(folder: Path) -> Path:
    return folder / ".fabric" / "daemon.pid"


def running_in(folder: Path) -> RunningDaemon | UnknownDaemon | None:
    said = said_by_holder(lock_path(folder))
    if said is None:
        return None
    try:
        return msgspec.json.decode(said, type=RunningDaemon)
    except msgspec.MsgspecError:
        return UnknownDaemon()


@contextlib.contextmanager
def held_for_life(folder: Path) -> Iterator[LifeLock]:
    make_private(folder / ".fabric", durable=False)
    lock = LifeLock.take(lock_path(folder))
    if lock is None:
        raise AlreadyRunningError(running_in(folder) or UnknownDaemon())
    with lock:
        try:
            yield lock
        finally:
            remove(pid_path(folder))


def tell(lock: LifeLock, folder: Path, daemon: RunningDaemon) -> None:
    """The pid alone stands in its file: `kill $(cat …)` must be about nobody else."""
    lock.say(msgspec.json.encode(daemon))
    write_atomic(pid_path(folder), f"{daemon.process.pid}\n".encode(), mode=0o600)
