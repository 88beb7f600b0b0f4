"""Text for cache commands."""

from fabric.model.amounts import format_count, format_duration
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.outcomes.queried import (
    CachePruneOutcome,
    CacheStatsOutcome,
    CacheStatusOutcome,
    CacheVerifyOutcome,
    ConfigOutcome,
    PastRun,
    RunOutcome,
    RunsOutcome,
    ServicesOutcome,
    ValidOutcome,
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


def format_services(found: ServicesOutcome, style: Style) -> str:
    width = max((len(one.name) for one in found.services), default=0)
    return "\n".join(
        f"{style.strong(one.name.ljust(width))}  {one.config}"
        + style.dim(f"  depends on {', '.join(one.depends_on)}" if one.depends_on else "")
        for one in found.services
    )


def format_runs(found: RunsOutcome, style: Style) -> str:
    return "\n".join(_format_run(row, style) for row in found.runs) or "No runs yet."


def run_text(found: RunOutcome, style: Style) -> str:
    """Format a run with its tasks. Up-to-date tasks are only counted."""
    ended = [event for event in found.events if event["type"] == "task_ended"]
    lines = [_format_task(one, style) for one in ended if one.get("status") != "skipped"]
    return "\n".join([_format_run(found.summary, style), *lines])


def _format_run(row: PastRun, style: Style) -> str:
    counts = f"{row.ran} ran, {row.skipped} up to date, {row.failed} failed"
    head = f"{style.strong(row.id)}  {row.command:<16} {row.status:<10}"
    return f"{head} {counts}  {style.dim(format_duration(row.ms))}"


def _format_task(event: JsonObject, style: Style) -> str:
    status, task, reason = (str(event.get(name, "")) for name in ("status", "task", "reason"))
    return f"  {status:<9} {task}  {style.dim(reason)}"


def format_valid(found: ValidOutcome, _style: Style) -> str:
    lines = [
        f"{one.name}: {format_count(len(one.functions), 'function')}, {one.config}"
        for one in found.services
    ]
    what = format_count(len(found.services), "config")
    verb = "is" if len(found.services) == 1 else "are"
    return "\n".join([*lines, f"{what} {verb} valid for stage `{found.stage}`."])


def format_config(found: ConfigOutcome, _style: Style) -> str:
    import yaml  # nobody else who looks at something needs it

    text: str = yaml.safe_dump(found.config, sort_keys=False, allow_unicode=True, width=100)
    return text.rstrip("\n")
