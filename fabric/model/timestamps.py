"""Moments as people write them: how long ago, or a time of day with its date."""

import datetime
import re

from fabric.model.problems import FabricError, Problem
from fabric.model.time_spans import parse_seconds

FORMS = "10m, 2h, 1d, 2026-01-02 or 2026-01-02T03:04:05Z"
_SPAN = re.compile(r"[\d.]+\s*[a-zA-Z]*")


def parse_moment(option: str, text: str, now: datetime.datetime) -> datetime.datetime:
    """Parse a moment. A duration means that long ago; a time without a zone is local."""
    if _SPAN.fullmatch(text.strip()):
        seconds = parse_seconds(option, text, "usage/bad-time")
        try:
            return now - datetime.timedelta(seconds=seconds)
        except OverflowError:
            raise _bad_moment_error(option, text) from None
    try:
        return datetime.datetime.fromisoformat(text.strip()).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        raise _bad_moment_error(option, text) from None


def _bad_moment_error(option: str, text: str) -> FabricError:
    message = f"invalid value for {option}: `{text}` is not a time"
    return FabricError(Problem("usage/bad-time", message, hint=f"use a value such as {FORMS}"))
