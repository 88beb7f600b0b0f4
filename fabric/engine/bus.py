"""One stream of events, many listeners; numbers and times are given here."""

import threading
from collections.abc import Sequence
from typing import Protocol

from fabric.model.events import Event, Stamped
from fabric.system.clock import Clock, stamp


class Listener(Protocol):
    def hear(self, event: Stamped) -> None: ...
    def close(self) -> None: ...


class Bus:
    """Events reach every listener in the order of their numbers, one at a time."""

    def __init__(self, run: str, clock: Clock, listeners: Sequence[Listener]) -> None:
        self.run = run
        self._clock = clock
        self._listeners = tuple(listeners)
        self._lock = threading.Lock()
        self._seq = 0
        self._begin = clock.monotonic()

    def emit(self, event: Event) -> None:
        if not self._listeners:
            return
        with self._lock:
            self._seq += 1
            elapsed = self._clock.monotonic() - self._begin
            stamped = Stamped(self.run, self._seq, stamp(self._clock), elapsed, event)
            for listener in self._listeners:
                listener.hear(stamped)

    def close(self) -> None:
        for listener in self._listeners:
            listener.close()
