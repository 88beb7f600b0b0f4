"""When to wait for the shared cache, and when no more: a state machine without time.

Who waits says how long it was for; nobody here looks at a clock.
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
    """`why` is why nothing is asked any more; empty while it is."""

    def __init__(self, wait_s: float = WAIT_S) -> None:
        self._lock = threading.Lock()
        self._least = max(LEAST_S, LEAST_S * wait_s / WAIT_S)
        self._left = max(FRUITLESS_S, wait_s)
        self._in_a_row = 0
        self.why = ""

    def allowed(self, worth_s: float) -> float:
        """How long to wait for what took so long to make; nothing once it is off."""
        with self._lock:
            return 0.0 if self.why else min(max(self._least, 2 * worth_s), self._left)

    def answered(self) -> None:
        with self._lock:
            self._in_a_row = 0

    def failed(self, waited_s: float, why: str) -> None:
        """A wait that brought nothing. That something is not there is no failure."""
        with self._lock:
            self._in_a_row += 1
            self._left -= waited_s
            if self._in_a_row >= FAILURES or self._left <= 0:
                self._shut(why)

    def shut(self, why: str) -> None:
        """It makes no sense to ask for anything else."""
        with self._lock:
            self._shut(why)

    def _shut(self, why: str) -> None:
        self.why = self.why or why
