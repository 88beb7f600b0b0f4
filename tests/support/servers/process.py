"""Servers as children: own session, loopback only, ready when they answer, ended with the tests."""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.bundler_cache import ENVIRONMENT

_START_SECONDS = 60
_STOP_SECONDS = 10
_LOWEST, _HIGHEST, _DISTANCE = 12_000, 29_999, 8
_PORTS = Path(tempfile.gettempdir(), f"fabric-tests-next-port-{os.getuid()}")


@dataclass(frozen=True)
class Command:
    """`user` is a user and a group id, for servers that do not run as root. SIGINT is an orderly
    end for most of them, without waiting for their clients; `end` is what it is for this one."""

    argv: Sequence[str]
    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    user: tuple[int, int] | None = None
    end: signal.Signals = signal.SIGINT

    def start(self) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                self.argv,
                cwd=self.folder,
                env={**ENVIRONMENT, **self.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self.user and self.user[0],
                group=self.user and self.user[1],
                extra_groups=self.user and [],
            )


@contextlib.contextmanager
def running(command: Command, is_ready: Callable[[], bool]) -> Iterator[None]:
    child = command.start()
    try:
        _wait(child, command, is_ready)
        yield
    finally:
        _end(child, command.end)


def free_port() -> int:
    """Return the next unused port below the range of outgoing connections.

    Its distance from the port before and after leaves room for functions in one container, which
    use the ports above that of the container.
    """
    with _PORTS.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        port = int(file.read() or _LOWEST)
        while not _is_free(port):
            port = _following(port)
        file.truncate(0)
        file.write(str(_following(port)))
    return port


def _following(port: int) -> int:
    return port + _DISTANCE if port < _HIGHEST else _LOWEST


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _wait(child: subprocess.Popen[bytes], command: Command, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not is_ready():
        if child.poll() is not None or time.monotonic() > deadline:
            log = (command.folder / "log").read_text(errors="replace")
            raise RuntimeError(f"{command.argv[0]} did not start: {log[-2000:]}")
        time.sleep(0.02)


def _end(child: subprocess.Popen[bytes], orderly: signal.Signals) -> None:
    for number in (orderly, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_STOP_SECONDS)
            return
