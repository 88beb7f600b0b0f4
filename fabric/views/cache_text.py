"""Text for cache commands."""

from fabric.model.amounts import plural
from fabric.model.outcomes.looked_up import (
    CachePruneOutcome,
    CacheStatsOutcome,
    CacheStatusOutcome,
    CacheVerifyOutcome,
)
from fabric.views.style import Style
from fabric.views.words import size


def stats_text(found: CacheStatsOutcome, _style: Style) -> str:
    counts = f"{plural(found.records, 'cached result')}, {plural(found.blobs, 'object')}"
    return f"{found.folder}\n{counts}, {size(found.bytes)}"


def status_text(found: CacheStatusOutcome, _style: Style) -> str:
    if not found.configured:
        return "No shared cache: FABRIC_REMOTE_CACHE_URL is not set."
    ways = {(True, True): "read-write", (True, False): "read-only", (False, True): "write-only"}
    mode = ways.get((found.reads, found.writes), "unavailable")
    scope = f", scope {found.scope}" if found.scope else ""
    there = f"{plural(found.tasks, 'task')} in {plural(found.segments, 'segment')}"
    return f"{found.place}\n{mode}{scope}, {there}, response time {found.ms} ms"


def verify_text(done: CacheVerifyOutcome, _style: Style) -> str:
    return f"{plural(done.checked, 'object')} checked, {done.removed} damaged and removed."


def prune_text(done: CachePruneOutcome, _style: Style) -> str:
    freed, kept = size(done.freed_bytes), size(done.kept_bytes)
    return f"{plural(done.removed, 'object')} removed, {freed} freed, {kept} kept."
