"""Data about invocations: lines, numbers and traces. Times are nanoseconds since 1970."""

import datetime
import json
import re
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
        """Return the length of a part in seconds, as whole minutes."""
        seconds = (self.until - self.since) // SECOND // parts
        return max(-(-seconds // _MINUTE), 1) * _MINUTE

    def in_parts(self, counted: Iterable[tuple[int, float]], part: int = 0) -> tuple[int, ...]:
        """Sum the counts by part. Counts outside the window are added to the nearest part."""
        sums = [0] * PARTS
        for at, count in counted:
            place = (at - self.since) // (part or self.part)
            sums[min(max(place, 0), PARTS - 1)] += round(count)
        return tuple(sums)


class LogLine(Struct, frozen=True):
    """A log line."""

    at: int
    service: str
    function: str
    provider: str
    text: str
    level: str = ""
    request: str = ""
    # Unique within its function.
    id: str = ""
    # Marks provider messages about a call's start and end.
    is_platform: bool = False

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.provider, self.service, self.function, self.id or f"{self.at} {self.text}")


class FunctionNumbers(Struct, frozen=True):
    """Numbers of a function. A percentile can be unknown."""

    service: str
    function: str
    provider: str
    calls: int
    errors: int
    p50_ms: float | None = None
    p95_ms: float | None = None
    # Calls in equal parts of the window.
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
    """One call with its steps."""

    id: str
    service: str
    function: str
    provider: str
    started_at: int
    ms: float
    status: str
    steps: tuple[TracedStep, ...] = ()


def format_moment(at: int) -> str:
    """Format a time for JSON."""
    whole = datetime.datetime.fromtimestamp(at // SECOND, tz=datetime.UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{at % SECOND // _MS:03d}Z"


def convert_to_nanoseconds(at: datetime.datetime) -> int:
    return round(at.timestamp() * 1_000_000) * 1_000


def parse_nanoseconds(text: str) -> int:
    """Parse a UTC time with up to nine decimal digits. Raises a ValueError if invalid."""
    head, _, rest = text.rstrip("Z").partition(".")
    whole = datetime.datetime.fromisoformat(head).replace(tzinfo=datetime.UTC)
    return convert_to_nanoseconds(whole) + int(rest[:9].ljust(9, "0") or 0)


LEVELS = ("debug", "info", "warn", "error")
_NAMES = {
    "trace": "debug",
    "debug": "debug",
    "verbose": "debug",
    "log": "info",
    "info": "info",
    "notice": "info",
    "warn": "warn",
    "warning": "warn",
    "error": "error",
    "err": "error",
    "fatal": "error",
    "critical": "error",
    "alert": "error",
    "emergency": "error",
    "panic": "error",
}
_KEYS = ("level", "severity", "levelname", "lvl")
# `ERROR: …`, `[warn] …`, `2026-01-02T03:04:05Z INFO …`, and Lambda's `time\trequest\tERROR\t…`.
_WORD = re.compile(r"^(?:[\d:.TZ,+\-/ ]*[\s|])?[\[(<]?([A-Za-z]{3,9})[\])>]?(?=[:\s|]|$)")
_NUMBERS = ((50, "error"), (40, "warn"), (30, "info"), (0, "debug"))


def normalize_level(word: str) -> str:
    """Normalize a level name; empty for an unknown word."""
    return _NAMES.get(word.lower(), "")


def find_level(text: str) -> str:
    """Find the level of a line; empty if it has none."""
    if text.startswith("{"):
        return _read_json_level(text)
    fields = text.split("\t", 3)
    if len(fields) > 2 and normalize_level(fields[2].strip()):  # noqa: PLR2004 - time, request, level
        return normalize_level(fields[2].strip())
    found = _WORD.match(text)
    word = found[1] if found else ""
    # "Info about users" is a sentence, "INFO …" and "info: …" are not.
    is_meant = word.isupper() or (found is not None and text[found.end() :].startswith(":"))
    return normalize_level(word) if is_meant or text.startswith(("[", "(", "<")) else ""


def _read_json_level(text: str) -> str:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    found = next((said[key] for key in _KEYS if key in said), "")
    if isinstance(found, int | float) and not isinstance(found, bool):
        return next(name for least, name in _NUMBERS if found >= least or not least)
    return normalize_level(found) if isinstance(found, str) else ""


def is_as_grave(level: str, least: str) -> bool:
    """Return whether a line has at least this level. A line without a level counts as `info`."""
    return not least or LEVELS.index(level or "info") >= LEVELS.index(least)
