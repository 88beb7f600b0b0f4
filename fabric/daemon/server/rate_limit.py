"""Rate limit: N requests per client in any 60 seconds. The caller passes the time."""

import math
from collections import OrderedDict, deque

from msgspec import Struct

MINUTE = 60.0
MOST_CLIENTS = 10_000
# Of all clients together: a moment takes some thirty bytes.
_MOST_MOMENTS = 500_000


class Allowance(Struct, frozen=True):
    """`seconds` is how long until one more is let in than now."""

    is_granted: bool
    limit: int
    remaining: int
    seconds: int

    @property
    def headers(self) -> dict[str, str]:
        told = {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.seconds),
        }
        return told if self.is_granted else {**told, "Retry-After": str(self.seconds)}


class SlidingMinute:
    """Stores the times of accepted requests. Rejected ones do not extend the wait.

    With too many clients, the least recent are dropped.
    """

    def __init__(self, limit: int, most_clients: int = MOST_CLIENTS) -> None:
        self._limit, self._most = limit, most_clients
        self._let_in: OrderedDict[str, deque[float]] = OrderedDict()
        self._moments = 0

    def __len__(self) -> int:
        return len(self._let_in)

    def ask(self, client: str, now: float) -> Allowance:
        moments = self._let_in.setdefault(client, deque())
        self._let_in.move_to_end(client)
        self._drop_old(moments, now)
        is_granted = len(moments) < self._limit
        if is_granted:
            moments.append(now)
            self._moments += 1
        self._make_room()
        seconds = max(1, math.ceil(moments[0] + MINUTE - now))
        return Allowance(is_granted, self._limit, self._limit - len(moments), seconds)

    def _drop_old(self, moments: deque[float], now: float) -> None:
        while moments and moments[0] <= now - MINUTE:
            moments.popleft()
            self._moments -= 1

    def _make_room(self) -> None:
        """Drop clients, but not the current one."""
        while len(self._let_in) > self._most or (
            self._moments > _MOST_MOMENTS and len(self._let_in) > 1
        ):
            _, forgotten = self._let_in.popitem(last=False)
            self._moments -= len(forgotten)
