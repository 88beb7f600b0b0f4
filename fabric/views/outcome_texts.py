"""Text for each kind of outcome except builds."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from fabric.model.amounts import format_count
from fabric.model.outcomes import deployed, generated, planned, queried, recorded, routed, watched
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.model.outcomes.queried import CheckRow, DoctorOutcome
from fabric.views import (
    cache_text,
    deploy_text,
    plan_text,
    router_text,
    served_text,
    state_text,
)
from fabric.views.observed_text import format_logs, format_metrics, format_traces
from fabric.views.style import Style


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


def _format_served(served: queried.ServedOutcome, _style: Style) -> str:
    calls = format_count(served.calls, "call")
    return f"{calls}, {served.failed} failed" if served.failed else calls


def _format_document(given: queried.DocumentOutcome, _style: Style) -> str:
    return given.words


TEXTS: Mapping[type[JsonStruct], Callable[..., str]] = {
    planned.PlanOutcome: plan_text.plan_text,
    planned.ExplainOutcome: plan_text.explain_text,
    deployed.DeployOutcome: deploy_text.deploy_text,
    deployed.RemoveOutcome: deploy_text.format_removal,
    deployed.RollbackOutcome: deploy_text.rollback_text,
    deployed.ReleasesOutcome: deploy_text.format_releases,
    deployed.OutputsOutcome: deploy_text.format_outputs,
    generated.GenerateOutcome: deploy_text.generate_text,
    queried.ValidOutcome: cache_text.format_valid,
    queried.ConfigOutcome: cache_text.format_config,
    queried.ServicesOutcome: cache_text.format_services,
    queried.InvokeOutcome: _invoke_text,
    queried.ServedOutcome: _format_served,
    queried.StreamedOutcome: served_text.format_streamed,
    queried.RestoredOutcome: served_text.format_restoration,
    queried.DevOutcome: lambda _dev, _style: "",
    queried.DoctorOutcome: _format_doctor,
    queried.RunsOutcome: cache_text.format_runs,
    queried.RunOutcome: cache_text.run_text,
    queried.CacheStatsOutcome: cache_text.format_cache_stats,
    queried.CacheStatusOutcome: cache_text.format_cache_status,
    queried.CacheVerifyOutcome: cache_text.verify_text,
    queried.CachePruneOutcome: cache_text.prune_text,
    queried.DocumentOutcome: _format_document,
    watched.LogsOutcome: format_logs,
    watched.MetricsOutcome: format_metrics,
    watched.TracesOutcome: format_traces,
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
