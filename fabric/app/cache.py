"""Cache maintenance for users: size, verification and cleanup."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from fabric.app.caching.cache_place import cache_to_read
from fabric.app.project.files import find_workspace
from fabric.app.settings import Settings
from fabric.engine.memory.cleanup import Housekeeping
from fabric.engine.memory.cleanup import prune as drop_old
from fabric.model.outcomes.queried import (
    CachePruneOutcome,
    CacheStatsOutcome,
    CacheVerifyOutcome,
)
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.model.time.time_spans import parse_seconds
from fabric.runtimes.commands.build_caches import list_kept_folders
from fabric.system.clock import Clock

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def read_cache_stats(settings: Settings) -> Report:
    with _open_housekeeping(settings) as cache:
        blobs = list(cache.blobs())
        records = cache.records()
    kept = sum(one.size for one in list_kept_folders(Path(cache.folder)))
    total = kept + sum(one.size for one in blobs)
    return Report("cache stats", CacheStatsOutcome(str(cache.folder), records, len(blobs), total))


def verify(settings: Settings) -> Report:
    """Read the whole cache and delete damaged entries. They are rebuilt when needed."""
    with _open_housekeeping(settings) as cache:
        done = cache.verify()
    outcome = CacheVerifyOutcome(str(cache.folder), done.checked, done.removed)
    return Report("cache verify", outcome)


def prune(settings: Settings, max_size: str, max_age: str) -> Report:
    """Drop the blobs unused for longest until the rest is within the limits."""
    limit = parse_size(max_size)
    oldest = _compute_oldest_use(max_age, settings.clock) if max_age else 0.0
    with _open_housekeeping(settings) as cache:
        done = drop_old(cache, keep_bytes=limit, oldest=oldest)
    outcome = CachePruneOutcome(str(cache.folder), done.removed, done.freed, done.kept)
    return Report("cache prune", outcome)


@contextlib.contextmanager
def _open_housekeeping(settings: Settings) -> Iterator[Housekeeping]:
    place = cache_to_read(find_workspace(settings.cwd), settings)
    if place.problem:
        raise FabricError(place.problem)
    cache = Housekeeping(place.cache)
    try:
        yield cache
    finally:
        cache.close()


def parse_size(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([KMG]?)I?B?", text.strip().upper())
    if not found:
        raise _bad_option_error(
            f"invalid value for --max-size: `{text}`", "use a number with K, M or G, such as 500M"
        )
    return int(found[1]) * _UNITS[found[2]]


def _compute_oldest_use(max_age: str, clock: Clock) -> float:
    """Return the earliest time of last use that survives the cleanup."""
    age = parse_seconds("--max-age", max_age, "usage/bad-value")
    return clock.now().timestamp() - age


def _bad_option_error(message: str, hint: str) -> FabricError:
    return FabricError(Problem("usage/bad-value", message, hint=hint))
