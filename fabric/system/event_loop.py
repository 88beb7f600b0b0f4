"""A single-threaded event loop that waits for descriptors and timers and calls their handlers."""

import collections
import contextlib
import heapq
import itertools
import os
import selectors
import threading
import time
from collections.abc import Callable

Callback = Callable[[], None]
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_CLOSED = -1


class Timer:
    """A call at a later time, which can be canceled."""

    __slots__ = ("at", "call")

    def __init__(self, at: float, call: Callback) -> None:
        self.at = at
        self.call: Callback | None = call

    def cancel(self) -> None:
        self.call = None


class Deadline:
    """A time that is postponed often: a new timer each time would cost more."""

    def __init__(self, loop: "EventLoop", call: Callback) -> None:
        self._loop, self._call = loop, call
        self._due: float | None = None
        self._timer: Timer | None = None

    def put_off(self, seconds: float) -> None:
        self._due = time.monotonic() + seconds
        if self._timer is not None and self._timer.at > self._due:
            self.close()
        if self._timer is None:
            self._timer = self._loop.later(seconds, self._look)

    def call_off(self) -> None:
        """Cancel the deadline; it can be set again."""
        self._due = None

    def close(self) -> None:
        """Cancel permanently; the loop does not wait for its timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        left = 0.0 if self._due is None else self._due - time.monotonic()
        if left > 0:
            self._timer = self._loop.later(left, self._look)
        elif self._due is not None:
            self._due = None
            self._call()


class EventLoop:
    """An event loop. Only `post` is thread-safe. Closing it closes no descriptors except its
    own."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._calls: dict[int, Callback] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._ids = itertools.count()
        self._posted: collections.deque[Callback] = collections.deque()
        self._ear, self._bell = os.pipe()
        # A signal handler may post in the middle of what its own thread does here.
        self._ringing = threading.RLock()
        for end in (self._ear, self._bell):
            os.set_blocking(end, False)
        self.watch(self._ear, self._drain_wakeups)

    def watch(self, fd: int, call: Callback, events: int = READ) -> None:
        """Call `call` whenever the descriptor is ready for these events. Replaces earlier
        settings."""
        change = self._selector.modify if fd in self._calls else self._selector.register
        change(fd, events, call)
        self._calls[fd] = call

    def unwatch(self, fd: int) -> None:
        if self._calls.pop(fd, None) is not None:
            self._selector.unregister(fd)

    def later(self, seconds: float, call: Callback) -> Timer:
        timer = Timer(time.monotonic() + seconds, call)
        heapq.heappush(self._timers, (timer.at, next(self._ids), timer))
        return timer

    def post(self, call: Callback) -> None:
        """Schedule a call in the loop's thread, from any thread or a signal handler."""
        self._posted.append(call)
        # A pipe that is full has been rung already; a loop that is closed hears nothing more, and
        # the number of its pipe is somebody else's file by then.
        with self._ringing, contextlib.suppress(OSError):
            os.write(self._bell, b"!")

    def run_until(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            self.turn()

    def turn(self) -> None:
        """Wait for the next events and handle them."""
        for key, _ in self._selector.select(self._compute_timeout()):
            # One call may have ended what the next would be about, and its descriptor's number may
            # be another's by now.
            if self._calls.get(key.fd) == key.data:
                key.data()
        self._call_posted()
        self._call_due()

    def close(self) -> None:
        self._selector.close()
        with self._ringing:
            ends, self._ear, self._bell = (self._ear, self._bell), _CLOSED, _CLOSED
            for end in ends:
                os.close(end)

    def _compute_timeout(self) -> float | None:
        if self._posted:
            return 0
        while self._timers and self._timers[0][2].call is None:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _drain_wakeups(self) -> None:
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
