"""Which time a source that is followed is asked about next, and which of its lines are new. No
effects: whoever uses it says what time it is."""

from collections.abc import Sequence

from msgspec import Struct

from fabric.model.observed import SECOND, LogLine, TimeWindow

# Where lines are stamped by a clock that is ahead of this one, they are there all the same.
_AHEAD = 900 * SECOND


class LookBack(Struct, frozen=True):
    """How far back lines are looked for that were not there before: some are told late, and some
    are stamped by a clock that is behind. `near` at each look, `far` once in `every`."""

    near: int
    far: int
    every: int


class FollowedTime:
    """A line that can be read no later than `far` after the time it is stamped with is found, and
    found as new once: whatever its neighbours are stamped with, and however long nobody answered
    meanwhile."""

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
        """Of what was answered to the window of that `now`: those that were in no answer
        before."""
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
        """A function whose lines come late, or are stamped so, is looked for further back from the
        next look on: the others' lines say nothing of its own."""
        if self._read is None:
            return
        most = self._look_back.far - self._look_back.near
        newest: dict[str, int] = {}
        for line in lines:
            newest[line.function] = max(newest.get(line.function, line.at), line.at)
        for function, at in newest.items():
            self._behind[function] = min(max(self._read - at, 0), most)

    def _forget(self, before: int) -> None:
        """What no look reaches any more."""
        self._known = {key: at for key, at in self._known.items() if at >= before}
