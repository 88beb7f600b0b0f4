"""The one place that knows what time it is."""

import datetime
import time
from dataclasses import dataclass
from typing import Protocol

# The common monotonic clock of Linux stands still while the machine is suspended.
_AWAKE_OR_NOT: int | None = getattr(time, "CLOCK_BOOTTIME", None)


class Clock(Protocol):
    def monotonic(self) -> float: ...
    def now(self) -> datetime.datetime: ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    def monotonic(self) -> float:
        """Also goes on while the machine sleeps, where there is such a clock: a lease does."""
        return time.monotonic() if _AWAKE_OR_NOT is None else time.clock_gettime(_AWAKE_OR_NOT)

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(tz=datetime.UTC)


def stamp(clock: Clock) -> str:
    """The time as it stands in files and events."""
    return clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_ns() -> int:
    """Now as files are stamped: what moves after a command began may not be relied on."""
    return int(SystemClock().now().timestamp() * 1e9)


def stamp_in(clock: Clock, seconds: float) -> str:
    """The time that it will be then, in the same form."""
    later = clock.now() + datetime.timedelta(seconds=seconds)
    return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")
