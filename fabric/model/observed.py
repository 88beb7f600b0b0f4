"""What is known of calls that were made: lines, numbers and traces. Times are nanoseconds since
1970."""

import datetime
from collections.abc import Iterable

from msgspec import Struct

SECOND = 1_000_000_000
_MS = 1_000_000
_MINUTE = 60
# What is drawn over time has so many parts.
PARTS = 24


class TimeWindow(Struct, frozen=True):
    """From `since` on, and before `until`."""

    since: int
    until: int

    def has(self, at: int) -> bool:
        return self.since <= at < self.until

    @property
    def part(self) -> int:
        """How long a part of it is."""
        return max((self.until - self.since) // PARTS, 1)

    def whole_minutes(self, parts: int = PARTS) -> int:
        """How long a part is, in seconds, for whoever counts by the minute."""
        seconds = (self.until - self.since) // SECOND // parts
        return max(-(-seconds // _MINUTE), 1) * _MINUTE

    def in_parts(self, counted: Iterable[tuple[int, float]], part: int = 0) -> tuple[int, ...]:
        """What was counted at these times, for each part; of what lies outside the nearest has
        it."""
        sums = [0] * PARTS
        for at, count in counted:
            place = (at - self.since) // (part or self.part)
            sums[min(max(place, 0), PARTS - 1)] += round(count)
        return tuple(sums)


class LogLine(Struct, frozen=True):
    """`id` tells it from all others of its function; `is_platform` is what a provider says itself,
    of the beginning and the end of a call."""

    at: int
    service: str
    function: str
    provider: str
    text: str
    level: str = ""
    request: str = ""
    id: str = ""
    is_platform: bool = False

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.provider, self.service, self.function, self.id or f"{self.at} {self.text}")


class FunctionNumbers(Struct, frozen=True):
    """`over_time` are calls in equal parts of the time that was asked about; no percentile where
    nobody knows one."""

    service: str
    function: str
    provider: str
    calls: int
    errors: int
    p50_ms: float | None = None
    p95_ms: float | None = None
    over_time: tuple[int, ...] = ()


class TracedStep(Struct, frozen=True):
    """`parent` is empty at the root."""

    id: str
    parent: str
    name: str
    started_at: int
    ms: float
    status: str


class TracedCall(Struct, frozen=True):
    """One call, with what was done in it."""

    id: str
    service: str
    function: str
    provider: str
    started_at: int
    ms: float
    status: str
    steps: tuple[TracedStep, ...] = ()


def moment(at: int) -> str:
    """As it stands in JSON."""
    whole = datetime.datetime.fromtimestamp(at // SECOND, tz=datetime.UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{at % SECOND // _MS:03d}Z"


def nanoseconds(at: datetime.datetime) -> int:
    return round(at.timestamp() * 1_000_000) * 1_000


def nanoseconds_in(text: str) -> int:
    """Of a moment in UTC with up to nine digits behind the point; a ValueError for what is none."""
    head, _, rest = text.rstrip("Z").partition(".")
    whole = datetime.datetime.fromisoformat(head).replace(tzinfo=datetime.UTC)
    return nanoseconds(whole) + int(rest[:9].ljust(9, "0") or 0)
