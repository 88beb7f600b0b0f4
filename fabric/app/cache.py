"""The cache as users keep house with it: how big, whether it is sound, what may go."""

import contextlib
import re
from collections.abc import Iterator

from fabric.app.cache_place import cache_to_read
from fabric.app.project.workspace import workspace_of
from fabric.app.settings import Settings
from fabric.engine.memory.cleanup import Housekeeping
from fabric.engine.memory.cleanup import prune as drop_old
from fabric.model.outcomes.looked_up import (
    CachePruneOutcome,
    CacheStatsOutcome,
    CacheVerifyOutcome,
)
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.system.clock import SystemClock

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def stats(settings: Settings) -> Report:
    with _opened(settings) as cache:
        blobs = list(cache.blobs())
        records = cache.records()
    total = sum(one.size for one in blobs)
    return Report("cache stats", CacheStatsOutcome(str(cache.folder), records, len(blobs), total))


def verify(settings: Settings) -> Report:
    """Read everything that is kept; what is not as it was written goes away, and is made again."""
    with _opened(settings) as cache:
        done = cache.verify()
    outcome = CacheVerifyOutcome(str(cache.folder), done.checked, done.removed)
    return Report("cache verify", outcome)


def prune(settings: Settings, max_size: str, max_age: str) -> Report:
    """Drop the blobs unused for longest until the rest is within the limits."""
    limit = parse_size(max_size)
    oldest = SystemClock().now().timestamp() - parse_age(max_age) if max_age else 0.0
    with _opened(settings) as cache:
        done = drop_old(cache, keep_bytes=limit, oldest=oldest)
    outcome = CachePruneOutcome(str(cache.folder), done.removed, done.freed, done.kept)
    return Report("cache prune", outcome)


@contextlib.contextmanager
def _opened(settings: Settings) -> Iterator[Housekeeping]:
    place = cache_to_read(workspace_of(settings.cwd), settings)
    if place.problem:
        raise FabricError(place.problem)
    cache = Housekeeping(place.folder)
    try:
        yield cache
    finally:
        cache.close()


def parse_size(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([KMG]?)I?B?", text.strip().upper())
    if not found:
        raise _bad(f"--max-size {text} is no size", "a number with K, M or G, such as 500M")
    return int(found[1]) * _UNITS[found[2]]


def parse_age(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([smhd])", text.strip().lower())
    if not found:
        raise _bad(f"--max-age {text} is no time span", "a number with s, m, h or d, such as 30d")
    return int(found[1]) * _SPANS[found[2]]


def _bad(message: str, hint: str) -> FabricError:
    return FabricError(Problem("usage/bad-value", message, hint=hint))
