"""Counts and durations as text, for all output."""

from datetime import timedelta

_SECOND_MS = 1000
_MINUTE_S = 60


def format_count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_duration(ms: int) -> str:
    if ms < _SECOND_MS:
        return f"{ms} ms"
    seconds = ms / _SECOND_MS
    if seconds < _MINUTE_S:
        return f"{seconds:.1f} s"
    return f"{int(seconds // _MINUTE_S)} min {int(seconds % _MINUTE_S):02d} s"


def format_age(age: timedelta) -> str:
    """Format an age in its largest unit."""
    minutes = int(age.total_seconds() // _MINUTE_S)
    for unit, length in (("day", 24 * 60), ("hour", 60), ("minute", 1)):
        if minutes >= length:
            return format_count(minutes // length, unit)
    return "less than 1 minute"
