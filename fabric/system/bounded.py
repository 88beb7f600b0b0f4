"""A child that hears nothing, and may say only so much for only so long."""

import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from fabric.system.process import end_child, forget, start_child

_CHUNK = 1 << 16
# A process that the child left behind may hold its streams open for ever: it is not waited for.
_GRACE = 1.0


class Ending(StrEnum):
    EXITED = "exited"
    TIMED_OUT = "timed out"
    TOO_MUCH = "too much output"


@dataclass(frozen=True, slots=True)
class Limits:
    """`stdout` ends the child when it says more; of stderr the last `stderr` bytes are kept."""

    seconds: float = 900
    stdout: int = 10_000_000
    stderr: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Overheard:
    ending: Ending
    code: int
    stdout: bytes
    stderr: bytes


def run_bounded(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limits: Limits,
    pass_fds: Sequence[int] = (),
) -> Overheard:
    """Run to the end, or end the child's whole session. Its stdin is closed."""
    child = start_child(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, pass_fds=pass_fds)
    assert child.stdout is not None and child.stderr is not None  # noqa: S101, PT018 - both piped
    out = _Reader(child.stdout, limits.stdout, lambda: end_child(child))
    err = _Reader(child.stderr, limits.stderr, lambda: None)
    ending = _await(child, limits.seconds)
    for reader in (out, err):
        reader.thread.join(_GRACE)
    if out.is_full:
        ending = Ending.TOO_MUCH
    return Overheard(ending, child.returncode or 0, out.kept(), err.kept())


def _await(child: subprocess.Popen[bytes], seconds: float) -> Ending:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        end_child(child)
        return Ending.TIMED_OUT
    except BaseException:
        end_child(child)
        raise
    forget(child)
    return Ending.EXITED


class _Reader:
    """Takes what a stream says, so that the child never waits; keeps the last bytes of it."""

    def __init__(self, stream: IO[bytes], keep: int, when_full: Callable[[], None]) -> None:
        self._stream, self._keep, self._when_full = stream, keep, when_full
        self._bytes = bytearray()
        self.is_full = False
        self.thread = threading.Thread(target=self._read, name="child-reader", daemon=True)
        self.thread.start()

    def kept(self) -> bytes:
        """What is kept begins with a whole line: half of a secret would not be known as one."""
        text = bytes(self._bytes)
        return text.partition(b"\n")[2] if self.is_full else text

    def _read(self) -> None:
        with self._stream as stream:
            while chunk := os.read(stream.fileno(), _CHUNK):
                self._bytes += chunk
                if len(self._bytes) > self._keep:
                    self._drop()

    def _drop(self) -> None:
        del self._bytes[: -self._keep]
        if not self.is_full:
            self.is_full = True
            self._when_full()
