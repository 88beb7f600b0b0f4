"""Compute slots: of many tasks in one interpreter, the most urgent few run at a time.

Otherwise a hundred tasks would all become slow together, including those on the critical path. A
task that waits for a provider, a disk or a lock releases its slot.
"""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush

from fabric.engine.schedule import Urgency

_PATIENCE = 0.2


class _Waiter:
    def __init__(self) -> None:
        self.called = threading.Event()
        self.has_left = False


class ComputeSlots:
    """Compute slots. Thread-safe. A task is identified by its thread.

    No task waits longer than `patience` seconds, so that a slow slot holder does not block the
    others.
    """

    def __init__(self, places: int, patience: float = _PATIENCE) -> None:
        self._free = places
        self._patience = patience
        self._guard = threading.Lock()
        self._numbers = itertools.count()
        self._waiting: list[tuple[Urgency, int, _Waiter]] = []
        self._mine = threading.local()

    @property
    def free(self) -> int:
        """Return the number of free slots; negative if tasks started after their patience ended."""
        with self._guard:
            return self._free

    @property
    def waiting(self) -> int:
        with self._guard:
            return sum(not waiter.has_left for *_, waiter in self._waiting)

    @contextmanager
    def turn(self, urgency: Urgency) -> Iterator[None]:
        """Compute once it is this task's turn."""
        self._mine.urgency = urgency
        self._take(urgency)
        try:
            yield
        finally:
            self._give()
            self._mine.urgency = None

    @contextmanager
    def away(self) -> Iterator[None]:
        """Release the slot during a wait for others."""
        urgency: Urgency | None = getattr(self._mine, "urgency", None)
        if urgency is None:
            yield
            return
        self._give()
        try:
            yield
        except BaseException:
            # Bad news waits for nobody's turn: the run may have to stop for it.
            with self._guard:
                self._free -= 1
            raise
        self._take(urgency)

    def _take(self, urgency: Urgency) -> None:
        with self._guard:
            if self._free > 0:
                self._free -= 1
                return
            waiter = _Waiter()
            heappush(self._waiting, (urgency, next(self._numbers), waiter))
        if waiter.called.wait(self._patience):
            return
        with self._guard:
            # Called just now, or one more at work than there are places.
            if not waiter.called.is_set():
                waiter.has_left = True
                self._free -= 1

    def _give(self) -> None:
        with self._guard:
            self._free += 1
            while self._free > 0 and self._waiting:
                waiter = heappop(self._waiting)[2]
                if not waiter.has_left:
                    self._free -= 1
                    waiter.called.set()
