"""Choose the next time window of a followed source and detect its new lines.

No side effects: the caller passes the current time.
"""

from collections.abc import Sequence

from msgspec import Struct

from fabric.model.observed import SECOND, LogLine, TimeWindow

# Where lines are stamped by a clock that is ahead of this one, they are there all the same.
_AHEAD = 900 * SECOND


class LookBack(Struct, frozen=True):
    """How far back late lines are searched, because ingestion and clocks can lag.

    `near` applies to each poll, `far` to every n-th poll, with n = `every`.
    """

    near: int
    far: int
    every: int


class FollowedTime:
    """Every line that becomes readable within `far` of its timestamp is reported exactly once.

    This holds for any timestamps of other lines and for any outage of the source.
    """

    def __init__(self, since: int, look_back: LookBack) -> None:
        self._since, self._look_back = since, look_back
        # When all that there was had been read last.
        self._read: int | None = None
        self._read_far = 0
        # How much older than the look before it the newest of each function was.
        self._behind: dict[str, int] = {}
        self._known: dict[tuple[str, str, str, str], int] = {}

    def window(self, now: int) -> TimeWindow:
        return TimeWindow(self._begin(now), now + _AHEAD)

    def new(self, lines: Sequence[LogLine], now: int) -> list[LogLine]:
        """Return the lines of a query at `now` that no earlier response contained."""
        found = []
        for line in lines:
            if line.key not in self._known:
                self._known[line.key] = line.at
                found.append(line)
        self._measure(found)
        if self._is_far(now):
            self._read_far = now
            self._forget(now - self._look_back.far)
        self._read = now
        return found

    def _is_far(self, now: int) -> bool:
        return self._read is None or now - self._read_far >= self._look_back.every

    def _begin(self, now: int) -> int:
        if self._read is None:
            return self._since
        if self._is_far(now):
            begin = min(self._read_far, now) - self._look_back.far
        else:
            slowest = max(self._behind.values(), default=0)
            begin = min(self._read, now) - self._look_back.near - slowest
        return max(self._since, begin)

    def _measure(self, lines: Sequence[LogLine]) -> None:
        """Search further back for a function whose lines arrive late. Each function is measured
        separately."""
        if self._read is None:
            return
        most = self._look_back.far - self._look_back.near
        newest: dict[str, int] = {}
        for line in lines:
            newest[line.function] = max(newest.get(line.function, line.at), line.at)
        for function, at in newest.items():
            self._behind[function] = min(max(self._read - at, 0), most)

    def _forget(self, before: int) -> None:
        """Forget lines that no window reaches anymore."""
        self._known = {key: at for key, at in self._known.items() if at >= before}
