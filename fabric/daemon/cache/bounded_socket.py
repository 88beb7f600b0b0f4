"""A socket with limits: every operation ends in time and size, whatever the peer does."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

_NOW = threading.local()


@contextlib.contextmanager
def limit_sockets(seconds: float, most_bytes: int) -> Iterator[None]:
    """Limit the bounded sockets of this thread to a deadline and a number of bytes."""
    _NOW.due, _NOW.left = time.monotonic() + seconds, most_bytes
    try:
        yield
    finally:
        _NOW.due = None


class BoundedSocket:
    """A socket. Beside its own timeout, each call respects the remaining time of `within`."""

    def __init__(self, inner: socket.socket) -> None:
        self._inner = inner
        self._timeout = inner.gettimeout()

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds
        self._inner.settimeout(seconds)

    def gettimeout(self) -> float | None:
        return self._timeout

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001 - as sockets have it
        self.settimeout(None if flag else 0.0)

    def recv(self, size: int, flags: int = 0) -> bytes:
        self._keep_to_the_time()
        found = self._inner.recv(size, flags)
        if getattr(_NOW, "due", None) is not None:
            _NOW.left -= len(found)
            if _NOW.left < 0:
                message = "the response is larger than any cached value"
                raise ConnectionError(message)
        return found

    def sendall(self, data: bytes, flags: int = 0) -> None:
        self._keep_to_the_time()
        self._inner.sendall(data, flags)

    def fileno(self) -> int:
        return self._inner.fileno()

    def shutdown(self, how: int) -> None:
        self._inner.shutdown(how)

    def close(self) -> None:
        self._inner.close()

    def setsockopt(self, level: int, option: int, value: int) -> None:
        self._inner.setsockopt(level, option, value)

    def _keep_to_the_time(self) -> None:
        due: float | None = getattr(_NOW, "due", None)
        if due is None or self._timeout == 0:
            return
        left = due - time.monotonic()
        if left <= 0:
            raise TimeoutError("too slow")
        self._inner.settimeout(left if self._timeout is None else min(left, self._timeout))
