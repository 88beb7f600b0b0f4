"""The only source of the current time."""

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
        """Return a time that also advances while the machine sleeps, if available: leases need
        that."""
        return time.monotonic() if _AWAKE_OR_NOT is None else time.clock_gettime(_AWAKE_OR_NOT)

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(tz=datetime.UTC)


def stamp(clock: Clock) -> str:
    """Format the time for files and events."""
    return clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_file_time_ns(folder: str | Path) -> int:
    """Return the current time of the file system of a directory, in nanoseconds. Files newer than
    the start of a command are not reliable.

    A network file system has a separate clock, and ours can be ahead.
    """
    cache = f"{folder}/{_CACHE}"
    places = (cache, folder) if _read_device(cache) == _read_device(folder) else (folder,)
    for place in places:
        with contextlib.suppress(OSError):
            return _stamp_of(_read_unnamed_time(place))
    with contextlib.suppress(OSError):
        return _stamp_of(
            os.open(f"{cache}/{_PROBE}", _TO_WRITE | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        )
    return int(SystemClock().now().timestamp() * 1e9)


def _read_device(folder: str | Path) -> int:
    try:
        return Path(folder).stat().st_dev
    except OSError:
        return -1


def _read_unnamed_time(folder: str | Path) -> int:
    """Read the time from an unnamed file, which does not even change the directory's times."""
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
    """Format a future time in the same form."""
    later = clock.now() + datetime.timedelta(seconds=seconds)
    return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")
