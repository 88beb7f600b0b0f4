"""Run a child with limits on output and time."""

import contextlib
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO

from msgspec import Struct

from fabric.system.process.child_protocol import SILENT, ChildTalk, LineWriter, send_input
from fabric.system.process.process import ask_to_end, end_child, kill_child, start_child

_CHUNK = 1 << 16
# A process that the child left behind may hold its streams open for ever: it is not waited for.
_GRACE = 1.0
# How often to look after a child whose end no descriptor tells.
_LOOK = 0.02
# How often to ask whether the child is still wanted.
_ASK = 0.1


class Ending(StrEnum):
    EXITED = "exited"
    TIMED_OUT = "timed out"
    TOO_MUCH = "too much output"
    UNWANTED = "unwanted"


class Limits(Struct, frozen=True):
    """Limits of a child. More than `stdout` bytes end it; of stderr the last `stderr` bytes are
    kept."""

    seconds: float = 900
    stdout: int = 10_000_000
    stderr: int = 1_000_000


class Overheard(Struct, frozen=True):
    """The result of a child. With `was_asked`, it was asked to end and did."""

    ending: Ending
    code: int
    stdout: bytes
    stderr: bytes
    was_asked: bool = False


def run_bounded(  # noqa: PLR0913 - a child, and what is allowed to it
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limits: Limits,
    pass_fds: Sequence[int] = (),
    talk: ChildTalk = SILENT,
) -> Overheard:
    """Run to the end, or end the child's whole session. Its stdin is closed or finite."""
    stdin = subprocess.PIPE if talk.stdin else subprocess.DEVNULL
    child = start_child(argv, cwd=cwd, env=env, stdin=stdin, pass_fds=pass_fds)
    send_input(child, talk.stdin)
    assert child.stdout is not None and child.stderr is not None  # noqa: S101, PT018 - both piped
    lines = LineWriter(talk.hear, limits.stderr)
    out = _CapturedStream(child.stdout, limits.stdout)
    err = _CapturedStream(child.stderr, limits.stderr, lines.take)
    life = _Life(child, talk, limits.seconds)
    try:
        ending = _read_until_end(life, out, err)
    except BaseException:
        end_child(child)
        raise
    finally:
        for stream in (out, err):
            stream.leave()
    lines.end_line()
    code = child.returncode or 0
    return Overheard(ending, code, out.read_tail(), err.read_tail(), was_asked=life.was_asked)


def _ignore_chunk(_chunk: bytes) -> None:
    pass


class _CapturedStream:
    """Reads a stream, so that the child never blocks, and keeps the last bytes."""

    def __init__(
        self, stream: IO[bytes], keep: int, tell: Callable[[bytes], None] = _ignore_chunk
    ) -> None:
        self._stream, self._keep, self._tell = stream, keep, tell
        self._bytes = bytearray()
        self.is_full = False

    def fileno(self) -> int:
        return self._stream.fileno()

    def read_tail(self) -> bytes:
        """Return the kept bytes. They start at a whole line, because a partial secret would not be
        redacted."""
        text = bytes(self._bytes)
        return text.partition(b"\n")[2] if self.is_full else text

    def take(self) -> bool:
        """Read available data; False at the end of the stream."""
        chunk = os.read(self.fileno(), _CHUNK)
        if not chunk:
            return False
        self._tell(chunk)
        self._bytes += chunk
        if len(self._bytes) > self._keep:
            del self._bytes[: -self._keep]
            self.is_full = True
        return True

    def close(self) -> None:
        self._stream.close()

    def leave(self) -> None:
        """Stop reading without breaking processes that still write to the pipe."""
        if not self._stream.closed:
            threading.Thread(target=self._drain, name="child-reader", daemon=True).start()

    def _drain(self) -> None:
        with self._stream as stream:
            while os.read(stream.fileno(), _CHUNK):
                pass


class _Ears:
    """The outputs of a child, and its end if a descriptor signals that."""

    def __init__(self, child: subprocess.Popen[bytes], streams: Sequence[_CapturedStream]) -> None:
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
        """Wait for the next data, at most for this time."""
        for key, _ in self._poll.select(seconds if self._end is not None else min(seconds, _LOOK)):
            if not isinstance(key.fileobj, _CapturedStream):
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
    """Return a descriptor that is readable once the child has ended. `Popen.wait` with a timeout
    polls only every 50 ms."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(child.pid)
    except OSError:
        return None


class _Life:
    """The time limit of a child, and reasons to end it early."""

    def __init__(self, child: subprocess.Popen[bytes], talk: ChildTalk, seconds: float) -> None:
        self._child, self._talk = child, talk
        self._until = time.monotonic() + seconds
        self.was_asked = False
        self.is_over = False

    @property
    def child(self) -> subprocess.Popen[bytes]:
        return self._child

    @property
    def left(self) -> float:
        return self._until - time.monotonic()

    def ask_if_unwanted(self) -> None:
        if self.was_asked or self.is_over or not self._talk.is_to_end():
            return
        self.was_asked = True
        ask_to_end(self._child)
        self._until = min(self._until, time.monotonic() + self._talk.patience)

    def end(self) -> None:
        """Wait for or force the end; output of remaining processes is read for a moment longer."""
        (kill_child if self.was_asked else end_child)(self._child)
        self.is_over = True
        self._until = time.monotonic() + _GRACE

    @property
    def ran_out(self) -> Ending:
        return Ending.UNWANTED if self.was_asked else Ending.TIMED_OUT


def _read_until_end(life: _Life, out: _CapturedStream, err: _CapturedStream) -> Ending:
    """Read until the child has ended; output of remaining processes is read for a moment longer."""
    ending = Ending.EXITED
    with contextlib.closing(_Ears(life.child, (out, err))) as ears:
        while ears.hear_more or not life.is_over:
            left = life.left
            if left > 0:
                ears.listen(min(left, _ASK))
            elif life.is_over:
                break
            else:
                ending = life.ran_out
            life.ask_if_unwanted()
            if out.is_full:
                ending = Ending.TOO_MUCH
            if not life.is_over and (ending is not Ending.EXITED or life.child.poll() is not None):
                life.end()
    return ending
