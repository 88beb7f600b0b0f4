"""Start, stop and query the daemon of a workspace from another process."""

import contextlib
import http.client
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from fabric.app.settings import Settings
from fabric.daemon.process.listening import choose_local_address
from fabric.daemon.process.order import OWN_VARIABLES, ServeOrder
from fabric.daemon.process.running import (
    RunningDaemon,
    StartNote,
    UnknownDaemon,
    find_running,
    lock_path,
)
from fabric.model.problems import FabricError, Problem
from fabric.system.files.pid_lock import read_holder
from fabric.system.files.rotating_log import open_log, read_last_lines
from fabric.system.process.process_identity import is_surely_alive

_LINES = 12
_LOOK = 0.02
_ANSWER_SECONDS = 10.0
_START_SECONDS = 30.0
STOP_SECONDS = 10.0
# One that lost the lock to nobody who serves is started once more.
_LAUNCHES = 2
Launch: TypeAlias = Callable[[ServeOrder, Settings], StartNote | None]


class StartedDaemon(Struct, frozen=True):
    """`was_running`: another daemon serves the workspace, and none was started."""

    daemon: RunningDaemon | UnknownDaemon
    was_running: bool = False


def start(order: ServeOrder, settings: Settings, launch: Launch | None = None) -> StartedDaemon:
    """Start the daemon. Raises if no daemon serves in the end, for any reason."""
    for _ in range(_LAUNCHES):
        if found := _find_winner(order):
            return StartedDaemon(found, was_running=True)
        note = (launch or launch_daemon)(order, settings)
        if note is None:
            raise FabricError(_start_failure_problem(order, "the process exited"))
        if not note.is_other:
            return _start_process(order, note)
    if found := _find_winner(order):
        return StartedDaemon(found, was_running=True)
    raise FabricError(_silent_start_problem(order))


def _start_process(order: ServeOrder, note: StartNote) -> StartedDaemon:
    if note.problems:
        raise FabricError(*note.problems)
    _ask_once(order, note.port)
    return StartedDaemon(find_running(Path(order.folder)) or UnknownDaemon())


def _find_winner(order: ServeOrder) -> RunningDaemon | None:
    """Return the running daemon. Of two parallel starts, both return the one that won.

    Raises if the lock holder does not identify itself in time, because it can be another program.
    """
    end = time.monotonic() + _ANSWER_SECONDS
    while isinstance(found := find_running(Path(order.folder)), UnknownDaemon):
        if time.monotonic() >= end:
            raise FabricError(_silent_start_problem(order))
        time.sleep(_LOOK)
    return found


def _silent_start_problem(order: ServeOrder) -> Problem:
    path = lock_path(Path(order.folder))
    message = f"cannot start the daemon: an unknown process holds {path}"
    hint = (
        f"run: lsof {shlex.quote(str(path))}, to find the process, or read {order.log} if a daemon "
        "is starting"
    )
    return Problem("daemon/not-started", message, hint)


def stop(folder: Path) -> RunningDaemon | None:
    """Stop the daemon and return it. Only a process that identified itself is signaled."""
    found = find_running(folder)
    if found is None:
        return None
    if isinstance(found, UnknownDaemon):
        problem = Problem("daemon/unknown", "a daemon is already starting", "try again in a second")
        raise FabricError(problem)
    if not is_surely_alive(found.process):
        message = f"the daemon runs on the host {found.process.host}, or in a container"
        raise FabricError(Problem("daemon/elsewhere", message, "on that host, run: fabricd stop"))
    with contextlib.suppress(ProcessLookupError):
        _send_stop_signal(found)
    if not _is_gone(folder, STOP_SECONDS):
        raise FabricError(_still_running_problem(found))
    return found


def _send_stop_signal(found: RunningDaemon) -> None:
    try:
        os.kill(found.process.pid, signal.SIGTERM)
    except PermissionError as error:
        message = f"process {found.process.pid} belongs to {found.process.user}"
        problem = Problem("daemon/not-ours", message, "run the command as that user")
        raise FabricError(problem) from error


def _is_gone(folder: Path, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while read_holder(lock_path(folder)) is not None:
        if time.monotonic() >= end:
            return False
        time.sleep(_LOOK)
    return True


def _still_running_problem(found: RunningDaemon) -> Problem:
    message = f"process {found.process.pid} is stopping: waiting for its runs to finish"
    hint = "wait up to 45 s, or run `fabricd stop` again to stop the runs (once more to kill them)"
    return Problem("daemon/still-ending", message, hint)


def launch_daemon(order: ServeOrder, settings: Settings) -> StartNote | None:
    """Launch the process and return its startup status; None if it ended without one."""
    ours, theirs = os.pipe()
    log = open_log(order.log)
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "fabric.daemon.process.detached", str(theirs)],
            cwd=settings.cwd,
            env=_build_environment(settings),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(theirs,),
        )
    finally:
        os.close(log)
        os.close(theirs)
    try:
        _send_order(child, order)
        said = _read_note(ours)
    finally:
        os.close(ours)
        # Nobody waits for it: it outlives this command.
        child.returncode = 0
    return msgspec.json.decode(said, type=StartNote) if said else None


def _read_note(notes: int) -> bytes:
    """Read one status or nothing, because it is written in one piece."""
    is_there, _, _ = select.select([notes], [], [], _START_SECONDS)
    return os.read(notes, 1 << 16) if is_there else b""


def _send_order(child: "subprocess.Popen[bytes]", order: ServeOrder) -> None:
    if child.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError), child.stdin as way:
        way.write(msgspec.json.encode(order))


def _build_environment(settings: Settings) -> dict[str, str]:
    return {
        name: text for name, text in settings.full_environment.items() if name not in OWN_VARIABLES
    }


def _ask_once(order: ServeOrder, port: int) -> None:
    """Query the port once. A silent port is not a started daemon."""
    address = choose_local_address(order.door.address)
    client = http.client.HTTPConnection(address, port, timeout=_ANSWER_SECONDS)
    try:
        with contextlib.closing(client):
            client.request("GET", "/healthz")
            client.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        why = f"no response at {address}:{port}: {error}"
        raise FabricError(_start_failure_problem(order, why)) from error


def _start_failure_problem(order: ServeOrder, why: str) -> Problem:
    lines = read_last_lines(order.log, _LINES)
    told = "\n".join(f"  {line}" for line in lines)
    message = f"cannot start the daemon: {why}"
    if told:
        message += f"\nlast lines of its log:\n{told}"
    return Problem("daemon/not-started", message, f"read the log: {order.log}")
