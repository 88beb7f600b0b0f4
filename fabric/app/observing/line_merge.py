"""Merge lines of many sources by time, without duplicates.

No side effects: the caller passes the current time.
"""

import heapq
from collections.abc import Iterable

from fabric.model.observed import LogLine

LineKey = tuple[str, str, str, str]


class LineMerge:
    """A line is held for `hold` after its arrival, so that older lines are passed on first.

    Lines that arrive even later are passed on out of order.

    A timestamp in the future counts as the time of arrival, so that no line is passed on too early.

    Duplicates older than `memory` are not detected.
    """

    def __init__(self, hold: int, memory: int) -> None:
        self._hold, self._memory = hold, memory
        self._waiting: list[tuple[int, str, str, int, LogLine]] = []
        self._arrivals: list[tuple[int, int]] = []
        self._heard: dict[LineKey, int] = {}
        self._count = 0

    def take(self, lines: Iterable[LogLine], now: int) -> None:
        for line in lines:
            if line.key not in self._heard:
                self._count += 1
                at = min(line.at, now)
                row = (at, line.service, line.function, self._count, line)
                heapq.heappush(self._waiting, row)
                self._arrivals.append((now, at))
            # Heard of once more: it may come again for as long as that.
            self._heard.pop(line.key, None)
            self._heard[line.key] = now

    def due(self, now: int) -> list[LogLine]:
        ripe = [at for arrived, at in self._arrivals if now - arrived >= self._hold]
        self._arrivals = [one for one in self._arrivals if now - one[0] < self._hold]
        self._forget(now - self._memory)
        return self._take_until(max(ripe)) if ripe else []

    def rest(self) -> list[LogLine]:
        """Return all lines that are still held."""
        self._arrivals = []
        return self._take_until(None)

    def _take_until(self, until: int | None) -> list[LogLine]:
        found = []
        while self._waiting and (until is None or self._waiting[0][0] <= until):
            found.append(heapq.heappop(self._waiting)[-1])
        return found

    def _forget(self, before: int) -> None:
        """Forget old lines. The oldest are first, because each arrival moves a line to the end."""
        while self._heard:
            key = next(iter(self._heard))
            if self._heard[key] >= before:
                return
            del self._heard[key]


def sort_lines(lines: Iterable[LogLine]) -> list[LogLine]:
    """Sort the lines. Of two lines with the same key, only the first is kept."""
    every = list(lines)
    merge = LineMerge(0, 0)
    merge.take(every, max((one.at for one in every), default=0))
    return merge.rest()
