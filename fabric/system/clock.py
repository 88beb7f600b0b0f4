"""The one place that knows what time it is."""

import contextlib
import datetime
import errno
import os
import time
from pathlib import Path
from typing import Protocol

from msgspec import Struct

# The common monotonic clock of Linux stands still while the machine is suspended.
_AWAKE_OR_NOT: int | None = getattr(time, "CLOCK_BOOTTIME", None)
# Where fabric may write at any time; there once it has been used.
_CACHE = ".fabric/cache"
# Where a file system has no files without a name.
_PROBE = "clock"
_TO_WRITE = os.O_RDWR | os.O_CLOEXEC


class Clock(Protocol):
    def monotonic(self) -> float: ...
    def now(self) -> datetime.datetime: ...


class SystemClock(Struct, frozen=True):
    def monotonic(self) -> float:
        """Also goes on while the machine sleeps, where there is such a clock: a lease does."""
        return time.monotonic() if _AWAKE_OR_NOT is None else time.clock_gettime(_AWAKE_OR_NOT)

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(tz=datetime.UTC)


def stamp(clock: Clock) -> str:
    """The time as it stands in files and events."""
    return clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


def file_time_ns(folder: str | Path) -> int:
    """Now, as the file system stamps what is written in a folder: what moves after a command began
    may not be relied on. A server's file system has a clock of its own; ours may be ahead of it.
    """
    cache = f"{folder}/{_CACHE}"
    places = (cache, folder) if _device(cache) == _device(folder) else (folder,)
    for place in places:
        with contextlib.suppress(OSError):
            return _stamp_of(_unnamed(place))
    with contextlib.suppress(OSError):
        return _stamp_of(
            os.open(f"{cache}/{_PROBE}", _TO_WRITE | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        )
    return int(SystemClock().now().timestamp() * 1e9)


def _device(folder: str | Path) -> int:
    try:
        return Path(folder).stat().st_dev
    except OSError:
        return -1


def _unnamed(folder: str | Path) -> int:
    """A file without a name leaves no trace, not even in the folder's own times."""
    if not hasattr(os, "O_TMPFILE"):
        raise OSError(errno.ENOTSUP, "unnamed files are not supported")
    return os.open(folder, os.O_TMPFILE | _TO_WRITE, 0o600)


def _stamp_of(fd: int) -> int:
    try:
        os.utime(fd)
        return os.fstat(fd).st_ctime_ns
    finally:
        os.close(fd)


def stamp_in(clock: Clock, seconds: float) -> str:
    """The time that it will be then, in the same form."""
    later = clock.now() + datetime.timedelta(seconds=seconds)
    return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")
