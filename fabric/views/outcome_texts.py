"""Text for each kind of outcome except builds."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from fabric.model.outcomes import deployed, generated, planned, queried, recorded, routed, watched
from fabric.model.outcomes.imported import (
    ChangedKey,
    ComparisonOutcome,
    ImportedService,
    ImportNote,
    ImportOutcome,
)
from fabric.model.outcomes.json_struct import JsonObject, JsonStruct
from fabric.model.outcomes.queried import (
    CachePruneOutcome,
    CacheStatsOutcome,
    CacheStatusOutcome,
    CacheVerifyOutcome,
    CheckRow,
    ConfigOutcome,
    DoctorOutcome,
    PastRun,
    RunOutcome,
    RunsOutcome,
    ServicesOutcome,
    ValidOutcome,
)
from fabric.model.text.amounts import format_count, format_duration
from fabric.views import (
    deploy_text,
    plan_text,
    router_text,
    served_text,
    state_text,
)
from fabric.views.messages import format_size
from fabric.views.observed_text import format_logs, format_metrics, format_traces
from fabric.views.style import Style


def _format_cache_stats(found: CacheStatsOutcome, _style: Style) -> str:
    counts = (
        f"{format_count(found.records, 'cached result')}, {format_count(found.blobs, 'object')}"
    )
    return f"{found.folder}\n{counts}, {format_size(found.bytes)}"


def _format_cache_status(found: CacheStatusOutcome, _style: Style) -> str:
    if not found.configured:
        return "No shared cache: FABRIC_REMOTE_CACHE_URL is not set."
    ways = {(True, True): "read-write", (True, False): "read-only", (False, True): "write-only"}
    mode = ways.get((found.reads, found.writes), "unavailable")
    scope = f", scope {found.scope}" if found.scope else ""
    there = f"{format_count(found.tasks, 'task')} in {format_count(found.segments, 'segment')}"
    return f"{found.place}\n{mode}{scope}, {there}, response time {found.ms} ms"


def _format_cache_check(done: CacheVerifyOutcome, _style: Style) -> str:
    return f"{format_count(done.checked, 'object')} checked, {done.removed} damaged and removed."


def _format_pruning(done: CachePruneOutcome, _style: Style) -> str:
    freed, kept = format_size(done.freed_bytes), format_size(done.kept_bytes)
    return f"{format_count(done.removed, 'object')} removed, {freed} freed, {kept} kept."


def _format_services(found: ServicesOutcome, style: Style) -> str:
    width = max((len(one.name) for one in found.services), default=0)
    return "\n".join(
        f"{style.strong(one.name.ljust(width))}  {one.config}"
        + style.dim(f"  depends on {', '.join(one.depends_on)}" if one.depends_on else "")
        for one in found.services
    )


def _format_runs(found: RunsOutcome, style: Style) -> str:
    return "\n".join(_format_past_run(row, style) for row in found.runs) or "No runs yet."


def _format_run(found: RunOutcome, style: Style) -> str:
    """Format a run with its tasks. Up-to-date tasks are only counted."""
    ended = [event for event in found.events if event["type"] == "task_ended"]
    lines = [_format_task(one, style) for one in ended if one.get("status") != "skipped"]
    return "\n".join([_format_past_run(found.summary, style), *lines])


def _format_past_run(row: PastRun, style: Style) -> str:
    counts = f"{row.ran} ran, {row.skipped} up to date, {row.failed} failed"
    head = f"{style.strong(row.id)}  {row.command:<16} {row.status:<10}"
    return f"{head} {counts}  {style.dim(format_duration(row.ms))}"


def _format_task(event: JsonObject, style: Style) -> str:
    status, task, reason = (str(event.get(name, "")) for name in ("status", "task", "reason"))
    return f"  {status:<9} {task}  {style.dim(reason)}"


def _format_valid(found: ValidOutcome, _style: Style) -> str:
    lines = [
        f"{one.name}: {format_count(len(one.functions), 'function')}, {one.config}"
        for one in found.services
    ]
    what = format_count(len(found.services), "config")
    verb = "is" if len(found.services) == 1 else "are"
    return "\n".join([*lines, f"{what} {verb} valid for stage `{found.stage}`."])


def _format_config(found: ConfigOutcome, _style: Style) -> str:
    import yaml  # nobody else who looks at something needs it

    text: str = yaml.safe_dump(found.config, sort_keys=False, allow_unicode=True, width=100)
    return text.rstrip("\n")


def _format_doctor(found: DoctorOutcome, _style: Style) -> str:
    width = max((len(row.name) for row in found.checks), default=0)
    lines = [line for row in found.checks for line in _format_check(row, width)]
    return "\n".join([*lines, _format_summary(found.checks)])


def _format_check(row: CheckRow, width: int) -> Iterator[str]:
    sign = "✓" if row.ok else "✗" if row.severity == "error" else "!"
    yield f"{sign} {row.name:<{width}}  {row.message}"
    # Errors are said once more at the end, each with what to do about it.
    if sign == "!" and row.fix:
        yield f"  {'':<{width}}  → {row.fix}"


def _format_summary(rows: Sequence[CheckRow]) -> str:
    bad = [row.severity for row in rows if not row.ok]
    if not bad:
        return f"All {format_count(len(rows), 'check')} passed."
    counts = [(bad.count(word), word) for word in ("error", "warning")]
    said = ", ".join(format_count(count, word) for count, word in counts if count)
    return f"{format_count(len(rows), 'check')}: {said}."


def _invoke_text(called: queried.InvokeOutcome, _style: Style) -> str:
    return json.dumps(called.response)


def _format_execution(ran: queried.ExecutionOutcome, _style: Style) -> str:
    """Format the output of an execution, or its address if it was started only."""
    return json.dumps(ran.output) if ran.status else ran.execution


def _format_served(served: queried.ServedOutcome, _style: Style) -> str:
    calls = format_count(served.calls, "call")
    return f"{calls}, {served.failed} failed" if served.failed else calls


def _format_document(given: queried.DocumentOutcome, _style: Style) -> str:
    return given.words


_LONGEST_LIST = 20


def _format_import(done: ImportOutcome, style: Style) -> str:
    verb = "Would import" if done.dry_run else "Imported"
    rows = [f"{verb} {one.name}: {_format_parts(one)}" for one in done.services]
    replaced = dict.fromkeys(done.replaced, " (exists)" if done.dry_run else " (replaced)")
    rows += [f"  {path}{replaced.get(path, '')}" for path in done.written]
    rows.append(f"  {'carried':<12} {format_count(done.carried, 'key')}")
    changed = [f"{one.where}  {one.path}: {one.reason}{_format_new(one)}" for one in done.changed]
    rows += _format_notes("changed", changed)
    rows += _format_notes("not carried", _list_notes(done.not_carried), style.bad)
    rows += _format_notes("dropped", _list_notes(done.dropped))
    is_compose = any(path.endswith("fabric.compose.yml") for path in done.written)
    following = (
        "fabric compose plan, fabric compose deploy"
        if is_compose
        else "fabric validate, fabric plan, fabric invoke local --serve"
    )
    rows.append(f"Next: {following}")
    return "\n".join(rows)


def _format_comparison(done: ComparisonOutcome, _style: Style) -> str:
    config = f"the conversion to {done.config}" if done.is_converted else done.config
    counts = f"{done.equal} equal, {len(done.differences)} different"
    rows = [f"Compared {done.source} ({done.tool}) with {config}: {counts}"]
    if done.differences:
        table = [("function", "kind", done.tool, "fabric")]
        table += [
            (one.function, one.kind, one.other or "-", one.fabric or "-")
            for one in done.differences
        ]
        widths = [max(len(row[column]) for row in table) for column in range(3)]
        lines = [
            f"  {first:<{widths[0]}}  {second:<{widths[1]}}  {third:<{widths[2]}}  {last}"
            for first, second, third, last in table
        ]
        rows += [lines[0], *lines[1:]]
    for archive in done.archives:
        for whose, files in ((done.tool, archive.only_other), ("fabric", archive.only_fabric)):
            rows += _format_notes(f"{archive.function}: files only of {whose}", files)
    return "\n".join(rows)


def _format_parts(one: ImportedService) -> str:
    return f"{format_count(one.functions, 'function')}, {format_count(one.triggers, 'trigger')}"


def _format_new(one: ChangedKey) -> str:
    return f" -> {one.to}" if one.to else ""


def _list_notes(notes: Sequence[ImportNote]) -> list[str]:
    return [
        f"{one.where}  {one.path}: {one.reason}{f' ({one.hint})' if one.hint else ''}"
        for one in notes
    ]


def _format_notes(
    title: str, rows: Sequence[str], mark: Callable[[str], str] = str
) -> Iterator[str]:
    """Format one list, shortened. JSON contains all rows."""
    if not rows:
        return
    yield f"  {mark(title):<12} {len(rows)}"
    yield from (f"    {row}" for row in rows[:_LONGEST_LIST])
    if len(rows) > _LONGEST_LIST:
        yield f"    ... and {len(rows) - _LONGEST_LIST} more, with --json"


TEXTS: Mapping[type[JsonStruct], Callable[..., str]] = {
    planned.PlanOutcome: plan_text.plan_text,
    planned.ExplainOutcome: plan_text.explain_text,
    deployed.DeployOutcome: deploy_text.deploy_text,
    deployed.PromoteOutcome: deploy_text.deploy_text,
    deployed.VerifyOutcome: deploy_text.format_verified,
    deployed.RemoveOutcome: deploy_text.format_removal,
    deployed.RollbackOutcome: deploy_text.rollback_text,
    deployed.AdoptOutcome: deploy_text.adopt_text,
    deployed.ReleasesOutcome: deploy_text.format_releases,
    deployed.OutputsOutcome: deploy_text.format_outputs,
    generated.GenerateOutcome: deploy_text.generate_text,
    ComparisonOutcome: _format_comparison,
    ImportOutcome: _format_import,
    queried.ValidOutcome: _format_valid,
    queried.ConfigOutcome: _format_config,
    queried.ServicesOutcome: _format_services,
    queried.InvokeOutcome: _invoke_text,
    queried.ExecutionOutcome: _format_execution,
    queried.ServedOutcome: _format_served,
    queried.StreamedOutcome: served_text.format_streamed,
    queried.RestoredOutcome: served_text.format_restoration,
    queried.DevOutcome: lambda _dev, _style: "",
    queried.DoctorOutcome: _format_doctor,
    queried.RunsOutcome: _format_runs,
    queried.RunOutcome: _format_run,
    queried.CacheStatsOutcome: _format_cache_stats,
    queried.CacheStatusOutcome: _format_cache_status,
    queried.CacheVerifyOutcome: _format_cache_check,
    queried.CachePruneOutcome: _format_pruning,
    queried.DocumentOutcome: _format_document,
    watched.LogsOutcome: format_logs,
    watched.MetricsOutcome: format_metrics,
    watched.TracesOutcome: format_traces,
    recorded.StagesOutcome: state_text.format_stages,
    recorded.SweepOutcome: state_text.format_sweep,
    recorded.RecordsOutcome: state_text.list_text,
    recorded.RecordOutcome: state_text.show_text,
    recorded.StoredOutcome: state_text.format_stored,
    recorded.BackupOutcome: state_text.format_backup,
    recorded.RestoreOutcome: state_text.restore_text,
    recorded.MigrateOutcome: state_text.migrate_text,
    recorded.PushOutcome: state_text.push_text,
    recorded.ForgetOutcome: state_text.forget_text,
    recorded.UnlockOutcome: state_text.unlock_text,
    recorded.ReconcileOutcome: state_text.reconcile_text,
    routed.RouterDeployOutcome: router_text.deploy_text,
    routed.StepsOutcome: router_text.format_steps,
    routed.SyncOutcome: router_text.sync_text,
    routed.RouterReconcileOutcome: router_text.reconcile_text,
    routed.HistoryOutcome: router_text.format_history,
    routed.RouterStatusOutcome: router_text.format_router_status,
    routed.EndpointsOutcome: router_text.format_endpoints,
    routed.SimulateOutcome: router_text.simulate_text,
    routed.ChaosOutcome: router_text.format_chaos,
}
