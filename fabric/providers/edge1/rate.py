"""The rate limit of an account, as responses report it, and delays that respect it."""

import re
import threading
import time
from collections.abc import Callable, Mapping

_LEFT = re.compile(r"\br=(\d+)\s*;\s*t=(\d+)")
_QUOTA = re.compile(r"\bq=(\d+)")
# From here on the calls that are left are spread over the time until there are new ones.
_SHORT = 10


class RateBudget:
    """A thread-safe budget: each caller takes the next free moment."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._guard = threading.Lock()
        self._distance = 0.0
        self._next = 0.0

    def learn(self, headers: Mapping[str, str]) -> None:
        left = _LEFT.search(headers.get("ratelimit", ""))
        quota = _QUOTA.search(headers.get("ratelimit-policy", ""))
        if left is None or quota is None:
            return
        calls, seconds = int(left[1]), int(left[2])
        is_short = calls * _SHORT < int(quota[1])
        with self._guard:
            self._distance = seconds / max(calls, 1) if is_short else 0.0

    def pause(self) -> float:
        """Return the delay before the next call, in seconds."""
        with self._guard:
            now = self._now()
            begin = max(now, self._next)
            self._next = begin + self._distance
            return begin - now if self._distance else 0.0
