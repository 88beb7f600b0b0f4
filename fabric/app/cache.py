"""The cache as users keep house with it: how big, whether it is sound, what may go."""

import contextlib
import re
from collections.abc import Iterator

from fabric.app.cache_place import cache_to_read
from fabric.app.project.workspace import workspace_of
from fabric.app.settings import Settings
from fabric.engine.memory.cleanup import Housekeeping
from fabric.engine.memory.cleanup import prune as drop_old
from fabric.model.amounts import plural
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.model.time_spans import seconds_of
from fabric.system.clock import SystemClock
from fabric.views.words import size

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def stats(settings: Settings) -> Report:
    with _opened(settings) as cache:
        blobs = list(cache.blobs())
        records = cache.records()
    total = sum(one.size for one in blobs)
    result = {"folder": cache.folder, "records": records, "blobs": len(blobs), "bytes": total}
    text = (
        f"{cache.folder}\n{plural(records, 'record')}, {plural(len(blobs), 'blob')}, {size(total)}"
    )
    return Report("cache stats", result, text=text)


def verify(settings: Settings) -> Report:
    """Read everything that is kept; what is not as it was written goes away, and is made again."""
    with _opened(settings) as cache:
        done = cache.verify()
    result = {"folder": cache.folder, "checked": done.checked, "removed": done.removed}
    read = plural(done.checked, "item")
    text = f"{read} checked, {done.removed} damaged and removed."
    return Report("cache verify", result, text=text)


def prune(settings: Settings, max_size: str, max_age: str) -> Report:
    """Drop the blobs unused for longest until the rest is within the limits."""
    limit = parse_size(max_size)
    oldest = _oldest(max_age) if max_age else 0.0
    with _opened(settings) as cache:
        done = drop_old(cache, keep_bytes=limit, oldest=oldest)
    result = {
        "folder": cache.folder,
        "removed": done.removed,
        "freedBytes": done.freed,
        "keptBytes": done.kept,
    }
    text = (
        f"{plural(done.removed, 'blob')} removed, {size(done.freed)} freed, {size(done.kept)} kept."
    )
    return Report("cache prune", result, text=text)


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


def _oldest(max_age: str) -> float:
    """When what may stay was last used, at the earliest."""
    age = seconds_of("--max-age", max_age, "usage/bad-value")
    return SystemClock().now().timestamp() - age


def _bad(message: str, hint: str) -> FabricError:
    return FabricError(Problem("usage/bad-value", message, hint=hint))
