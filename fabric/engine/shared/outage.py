"""Decide when to wait for the shared cache: a state machine without a clock.

Callers pass the time that they waited.
"""

import threading

# A content is waited for so long at least, and else as long as twice what making it took. A wait
# of the user's that is longer than the default makes it longer in proportion.
LEAST_S = 0.5
WAIT_S = 3.0
# So much of a run may be waited for nothing, and so many calls in a row may fail.
FRUITLESS_S = 5.0
FAILURES = 3


class Outage:
    """`why` is the reason for disabling the cache; empty while it is enabled."""

    def __init__(self, wait_s: float = WAIT_S) -> None:
        self._lock = threading.Lock()
        self._least = max(LEAST_S, LEAST_S * wait_s / WAIT_S)
        self._left = max(FRUITLESS_S, wait_s)
        self._in_a_row = 0
        self.why = ""

    def compute_wait(self, worth_s: float) -> float:
        """Return how long to wait for content of this build time; zero if disabled."""
        with self._lock:
            return 0.0 if self.why else min(max(self._least, 2 * worth_s), self._left)

    def report_success(self) -> None:
        with self._lock:
            self._in_a_row = 0

    def report_failure(self, waited_s: float, why: str) -> None:
        """Record a failed wait. A missing object is not a failure."""
        with self._lock:
            self._in_a_row += 1
            self._left -= waited_s
            if self._in_a_row >= FAILURES or self._left <= 0:
                self._shut(why)

    def shut(self, why: str) -> None:
        """Disable the cache, because further calls would fail too."""
        with self._lock:
            self._shut(why)

    def _shut(self, why: str) -> None:
        self.why = self.why or why
