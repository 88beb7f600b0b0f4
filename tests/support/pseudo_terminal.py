"""A program at a terminal, driven key by key: each key waits for what it answers to."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_PATIENCE = 30.0
UP, DOWN, ENTER, BACKSPACE, ESCAPE, CANCEL = "\x1b[A", "\x1b[B", "\r", "\x7f", "\x1b", "\x03"


class AtTerminal:
    def __init__(self, child: "subprocess.Popen[bytes]", ours: int) -> None:
        self._child = child
        self._ours = ours
        self.said = ""
        self._heard = 0

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        resize(self._ours, columns, rows)

    def until(self, text: str) -> str:
        """What was said since the last call, up to this text."""
        deadline = time.monotonic() + _PATIENCE
        while text not in self.said[self._heard :]:
            assert time.monotonic() < deadline, self.said[self._heard :]
            assert self._more(0.1) or self._child.poll() is None, self.said[self._heard :]
        end = self.said.index(text, self._heard) + len(text)
        found, self._heard = self.said[self._heard : end], end
        return found

    def ended(self) -> int:
        """The exit code, once all was heard."""
        while self._child.poll() is None or self._more(0):
            self._more(0.05)
        return self._child.wait()

    def is_cooked(self) -> bool:
        """Whether the terminal shows what is typed, and waits for whole lines."""
        flags: int = termios.tcgetattr(self._ours)[3]
        return bool(flags & termios.ICANON and flags & termios.ECHO)

    def interrupt(self, number: int) -> None:
        self._child.send_signal(number)

    def _more(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            chunk = os.read(self._ours, 65536)
        except OSError:  # the other end was closed
            return False
        self.said += chunk.decode(errors="replace")
        return bool(chunk)


def resize(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@contextlib.contextmanager
def at_terminal(words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Iterator[AtTerminal]:
    """All three streams are the terminal."""
    ours, theirs = pty.openpty()
    resize(theirs, 80, 24)
    child = subprocess.Popen(
        words, cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    try:
        yield AtTerminal(child, ours)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        os.close(theirs)
        os.close(ours)
