"""Whether a server can do its work: what it needs is looked at, and nobody is waited for long."""

import threading
import time
from collections.abc import Callable, Mapping

from fabric.model.checks import Check, failed
from fabric.model.problems import Problem

SECONDS = 2.0
Look = Callable[[], Check]


class Readiness:
    """Each look has a thread of its own; one that still looks is not begun a second time."""

    def __init__(self, looks: Mapping[str, Look], seconds: float = SECONDS) -> None:
        self._looks = {name: _OneAtATime(look) for name, look in looks.items()}
        self._seconds = seconds

    def checks(self) -> tuple[Check, ...]:
        due = time.monotonic() + self._seconds
        begun = [(name, look.begun()) for name, look in self._looks.items()]
        return tuple(
            turn.check_within(due - time.monotonic()) or failed(name, _too_slow(self._seconds))
            for name, turn in begun
        )


class _OneAtATime:
    def __init__(self, look: Look) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._turn: _Turn | None = None

    def begun(self) -> "_Turn":
        with self._lock:
            if self._turn is None or self._turn.is_over:
                self._turn = _Turn(self._look)
                threading.Thread(target=self._turn.go, name="readiness", daemon=True).start()
            return self._turn


class _Turn:
    def __init__(self, look: Look) -> None:
        self._look = look
        self._over = threading.Event()
        self._check: Check | None = None

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def go(self) -> None:
        try:
            self._check = self._look()
        finally:
            self._over.set()

    def check_within(self, seconds: float) -> Check | None:
        """None if it is not over by then, or failed."""
        self._over.wait(max(0.0, seconds))
        return self._check


def _too_slow(seconds: float) -> Problem:
    return Problem("doctor/too-slow", f"it did not answer within {seconds:g} s")
