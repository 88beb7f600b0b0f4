"""Text for cache commands."""

from fabric.model.amounts import format_count
from fabric.model.outcomes.queried import (
    CachePruneOutcome,
    CacheStatsOutcome,
    CacheStatusOutcome,
    CacheVerifyOutcome,
)
from fabric.views.messages import format_size
from fabric.views.style import Style


def format_cache_stats(found: CacheStatsOutcome, _style: Style) -> str:
    counts = (
        f"{format_count(found.records, 'cached result')}, {format_count(found.blobs, 'object')}"
    )
    return f"{found.folder}\n{counts}, {format_size(found.bytes)}"


def format_cache_status(found: CacheStatusOutcome, _style: Style) -> str:
    if not found.configured:
        return "No shared cache: FABRIC_REMOTE_CACHE_URL is not set."
    ways = {(True, True): "read-write", (True, False): "read-only", (False, True): "write-only"}
    mode = ways.get((found.reads, found.writes), "unavailable")
    scope = f", scope {found.scope}" if found.scope else ""
    there = f"{format_count(found.tasks, 'task')} in {format_count(found.segments, 'segment')}"
    return f"{found.place}\n{mode}{scope}, {there}, response time {found.ms} ms"


def verify_text(done: CacheVerifyOutcome, _style: Style) -> str:
    return f"{format_count(done.checked, 'object')} checked, {done.removed} damaged and removed."


def prune_text(done: CachePruneOutcome, _style: Style) -> str:
    freed, kept = format_size(done.freed_bytes), format_size(done.kept_bytes)
    return f"{format_count(done.removed, 'object')} removed, {freed} freed, {kept} kept."
