"""A child that hears nothing, and may say only so much for only so long."""

import contextlib
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO

from msgspec import Struct

from fabric.system.process import end_child, start_child

_CHUNK = 1 << 16
# A process that the child left behind may hold its streams open for ever: it is not waited for.
_GRACE = 1.0
# How often to look after a child whose end no descriptor tells.
_LOOK = 0.02


class Ending(StrEnum):
    EXITED = "exited"
    TIMED_OUT = "timed out"
    TOO_MUCH = "too much output"


class Limits(Struct, frozen=True):
    """`stdout` ends the child when it says more; of stderr the last `stderr` bytes are kept."""

    seconds: float = 900
    stdout: int = 10_000_000
    stderr: int = 1_000_000


class Overheard(Struct, frozen=True):
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
    out, err = _HeardStream(child.stdout, limits.stdout), _HeardStream(child.stderr, limits.stderr)
    try:
        ending = _hear(child, out, err, limits.seconds)
    except BaseException:
        end_child(child)
        raise
    finally:
        for stream in (out, err):
            stream.leave()
    return Overheard(ending, child.returncode or 0, out.kept(), err.kept())


class _HeardStream:
    """Takes what a stream says, so that the child never waits; keeps the last bytes of it."""

    def __init__(self, stream: IO[bytes], keep: int) -> None:
        self._stream, self._keep = stream, keep
        self._bytes = bytearray()
        self.is_full = False

    def fileno(self) -> int:
        return self._stream.fileno()

    def kept(self) -> bytes:
        """What is kept begins with a whole line: half of a secret would not be known as one."""
        text = bytes(self._bytes)
        return text.partition(b"\n")[2] if self.is_full else text

    def take(self) -> bool:
        """What it says now; False at its end."""
        chunk = os.read(self.fileno(), _CHUNK)
        if not chunk:
            return False
        self._bytes += chunk
        if len(self._bytes) > self._keep:
            del self._bytes[: -self._keep]
            self.is_full = True
        return True

    def close(self) -> None:
        self._stream.close()

    def leave(self) -> None:
        """Nobody listens any more; who still has the other end must not fall over that."""
        if not self._stream.closed:
            threading.Thread(target=self._drain, name="child-reader", daemon=True).start()

    def _drain(self) -> None:
        with self._stream as stream:
            while os.read(stream.fileno(), _CHUNK):
                pass


class _Ears:
    """What is heard of a child: its streams, and its end where a descriptor tells that."""

    def __init__(self, child: subprocess.Popen[bytes], streams: Sequence[_HeardStream]) -> None:
        self._poll = selectors.PollSelector()
        self._open = len(streams)
        self._end = _end_of(child)
        for stream in streams:
            self._poll.register(stream, selectors.EVENT_READ, stream)
        if self._end is not None:
            self._poll.register(self._end, selectors.EVENT_READ)

    @property
    def hear_more(self) -> bool:
        return self._open > 0

    def listen(self, seconds: float) -> None:
        """Wait for what comes next, but not for longer than this."""
        for key, _ in self._poll.select(seconds if self._end is not None else min(seconds, _LOOK)):
            if not isinstance(key.fileobj, _HeardStream):
                self._poll.unregister(key.fileobj)
            elif not key.fileobj.take():
                self._poll.unregister(key.fileobj)
                key.fileobj.close()
                self._open -= 1

    def close(self) -> None:
        self._poll.close()
        if self._end is not None:
            os.close(self._end)


def _end_of(child: subprocess.Popen[bytes]) -> int | None:
    """Readable once the child has ended. `Popen.wait` with a time-out looks every 50 ms only."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(child.pid)
    except OSError:
        return None


def _hear(
    child: subprocess.Popen[bytes], out: _HeardStream, err: _HeardStream, seconds: float
) -> Ending:
    """Listen until the child has ended; to what it left behind, only for a moment longer."""
    ending, over, until = Ending.EXITED, False, time.monotonic() + seconds
    with contextlib.closing(_Ears(child, (out, err))) as ears:
        while ears.hear_more or not over:
            left = until - time.monotonic()
            if left > 0:
                ears.listen(left)
            elif over:
                break
            else:
                ending = Ending.TIMED_OUT
            if out.is_full:
                ending = Ending.TOO_MUCH
            if not over and (ending is not Ending.EXITED or child.poll() is not None):
                end_child(child)
                over, until = True, time.monotonic() + _GRACE
    return ending
