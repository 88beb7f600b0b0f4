"""Readiness checks of a server, with time limits."""

import threading
import time
from collections.abc import Callable, Mapping

from fabric.model.checks import Check, make_failed_check
from fabric.model.problems import Problem

SECONDS = 2.0
Look = Callable[[], Check]


class Readiness:
    """Each check has its own thread. A running check is not started again."""

    def __init__(self, looks: Mapping[str, Look], seconds: float = SECONDS) -> None:
        self._looks = {name: _OneAtATime(look) for name, look in looks.items()}
        self._seconds = seconds

    def checks(self) -> tuple[Check, ...]:
        due = time.monotonic() + self._seconds
        begun = [(name, look.begun()) for name, look in self._looks.items()]
        return tuple(turn.check_within(name, due - time.monotonic()) for name, turn in begun)


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
        self._failure = ""

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def go(self) -> None:
        try:
            self._check = self._look()
        except Exception as error:  # noqa: BLE001 - whatever it is, the server is not ready
            self._failure = type(error).__name__
        finally:
            self._over.set()

    def check_within(self, name: str, seconds: float) -> Check:
        self._over.wait(max(0.0, seconds))
        if self._check is not None:
            return self._check
        said = f"the check failed: {self._failure}" if self._failure else "the check timed out"
        return make_failed_check(name, Problem(f"doctor/{name}", said))
