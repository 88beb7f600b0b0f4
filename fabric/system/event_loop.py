"""One thread that waits for many descriptors and moments at once, and calls whoever waits."""

import collections
import contextlib
import heapq
import itertools
import os
import selectors
import time
from collections.abc import Callable

Callback = Callable[[], None]
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Timer:
    """A call at a later moment; it may be called off."""

    __slots__ = ("at", "call")

    def __init__(self, at: float, call: Callback) -> None:
        self.at = at
        self.call: Callback | None = call

    def cancel(self) -> None:
        self.call = None


class EventLoop:
    """Not thread-safe but for `post`. Closing it closes no descriptor but its own."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Timer]] = []
        self._ids = itertools.count()
        self._posted: collections.deque[Callback] = collections.deque()
        self._ear, self._bell = os.pipe()
        for end in (self._ear, self._bell):
            os.set_blocking(end, False)
        self.watch(self._ear, self._hear_bell)

    def watch(self, fd: int, call: Callback, events: int = READ) -> None:
        """From now on `call` whenever the descriptor is ready for these events; instead of what
        was said of it before."""
        try:
            self._selector.register(fd, events, call)
        except KeyError:
            self._selector.modify(fd, events, call)

    def unwatch(self, fd: int) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(fd)

    def later(self, seconds: float, call: Callback) -> Timer:
        timer = Timer(time.monotonic() + seconds, call)
        heapq.heappush(self._timers, (timer.at, next(self._ids), timer))
        return timer

    def post(self, call: Callback) -> None:
        """Have it called by the loop's own thread: from any thread, and from a signal handler."""
        self._posted.append(call)
        # A pipe that is full has been rung already; a loop that is closed hears nothing more.
        with contextlib.suppress(BlockingIOError, OSError):
            os.write(self._bell, b"!")

    def run_until(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            self.turn()

    def turn(self) -> None:
        """Wait for whatever comes first, and do it."""
        for key, _ in self._selector.select(self._patience()):
            # One call may have ended what the next would be about.
            if self._selector.get_map().get(key.fd) is not None:
                key.data()
        self._call_posted()
        self._call_due()

    def close(self) -> None:
        self._selector.close()
        os.close(self._ear)
        os.close(self._bell)

    def _patience(self) -> float | None:
        if self._posted:
            return 0
        while self._timers and self._timers[0][2].call is None:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _hear_bell(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._ear, 4096)

    def _call_posted(self) -> None:
        for _ in range(len(self._posted)):
            self._posted.popleft()()

    def _call_due(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            _, _, timer = heapq.heappop(self._timers)
            call, timer.call = timer.call, None
            if call is not None:
                call()
