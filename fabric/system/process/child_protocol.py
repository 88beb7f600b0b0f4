"""Communication with a running child: its standard input, and progress lines."""

import contextlib
import subprocess
import threading
from collections.abc import Callable

from msgspec import Struct

# Of a longer line a part would be told, and a part of a secret is not known as one.
LONGEST_LINE = 1 << 16


def _ignore_line(_line: bytes) -> None:
    pass


def _is_wanted() -> bool:
    return False


class ChildTalk(Struct, frozen=True):
    """Communication with a child.

    Once the child `is_to_end`, its session is asked to end, and killed after `patience` seconds.
    """

    stdin: bytes = b""
    # Receives each complete line of its stderr.
    hear: Callable[[bytes], None] = _ignore_line
    is_to_end: Callable[[], bool] = _is_wanted
    patience: float = 10.0


SILENT = ChildTalk()


class LineWriter:
    """Splits bytes into whole lines, up to `most` bytes in total."""

    def __init__(self, hear: Callable[[bytes], None], most: int) -> None:
        self._hear = hear
        self._most = most
        self._begun = bytearray()
        self._is_long = False

    def take(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._add(line)
            self.end_line()
        self._add(rest)

    def end_line(self) -> None:
        """End a line. Of a line redrawn with carriage returns, only the final text counts."""
        line = bytes(self._begun).rstrip(b"\r").rpartition(b"\r")[2]
        if self._is_long:
            line = b"(a line that is too long to be shown)"
        self._begun.clear()
        self._is_long = False
        if line.strip() and self._most > 0:
            self._most -= len(line)
            self._hear(line if self._most > 0 else b"(and more, which is not shown)")

    def _add(self, part: bytes) -> None:
        if len(self._begun) + len(part) > LONGEST_LINE:
            self._is_long = True
            self._begun.clear()
        elif not self._is_long:
            self._begun += part


def send_input(child: subprocess.Popen[bytes], content: bytes) -> None:
    """Write the input at the child's speed; a child that reads none of it is not disturbed."""
    stream = child.stdin
    if stream is None:
        return

    def write() -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            stream.write(content)

    threading.Thread(target=write, name="child-writer", daemon=True).start()
