"""A circuit breaker: an unresponsive server is skipped for a while, then one request tests it."""

import threading
from collections.abc import Callable

_PAUSE_SECONDS = 5.0


class Breaker:
    """Thread-safe. Call `may_try` before each operation, and report the result afterwards."""

    def __init__(self, monotonic: Callable[[], float], pause: float = _PAUSE_SECONDS) -> None:
        self._monotonic = monotonic
        self._pause = pause
        self._lock = threading.Lock()
        self._again_at: float | None = None

    @property
    def is_open(self) -> bool:
        return self._again_at is not None

    def may_try(self) -> bool:
        """Return whether to try. During an outage one of many callers can try every few seconds."""
        with self._lock:
            if self._again_at is None:
                return True
            now = self._monotonic()
            if now < self._again_at:
                return False
            self._again_at = now + self._pause
            return True

    def went_well(self) -> None:
        with self._lock:
            self._again_at = None

    def report_failure(self) -> None:
        with self._lock:
            self._again_at = self._monotonic() + self._pause
