"""Text for each kind of outcome except builds."""

import json
from collections.abc import Callable, Mapping

from fabric.model.amounts import format_count
from fabric.model.outcomes import deployed, generated, looked_up, planned, recorded, routed, watched
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.views import (
    cache_text,
    deploy_text,
    generate_text,
    listing_text,
    plan_text,
    router_text,
    state_text,
    streamed_text,
)
from fabric.views.doctor_text import format_doctor
from fabric.views.observed_text import format_logs, format_metrics, format_traces
from fabric.views.style import Style


def _invoke_text(called: looked_up.InvokeOutcome, _style: Style) -> str:
    return json.dumps(called.response)


def _format_served(served: looked_up.ServedOutcome, _style: Style) -> str:
    calls = format_count(served.calls, "call")
    return f"{calls}, {served.failed} failed" if served.failed else calls


def _format_document(given: looked_up.DocumentOutcome, _style: Style) -> str:
    return given.words


TEXTS: Mapping[type[JsonStruct], Callable[..., str]] = {
    planned.PlanOutcome: plan_text.plan_text,
    planned.ExplainOutcome: plan_text.explain_text,
    deployed.DeployOutcome: deploy_text.deploy_text,
    deployed.RemoveOutcome: deploy_text.format_removal,
    deployed.RollbackOutcome: deploy_text.rollback_text,
    deployed.ReleasesOutcome: deploy_text.format_releases,
    deployed.OutputsOutcome: deploy_text.format_outputs,
    generated.GenerateOutcome: generate_text.generate_text,
    looked_up.ValidOutcome: listing_text.format_valid,
    looked_up.ConfigOutcome: listing_text.format_config,
    looked_up.ServicesOutcome: listing_text.format_services,
    looked_up.InvokeOutcome: _invoke_text,
    looked_up.ServedOutcome: _format_served,
    looked_up.StreamedOutcome: streamed_text.format_streamed,
    looked_up.RestoredOutcome: streamed_text.format_restoration,
    looked_up.DevOutcome: lambda _dev, _style: "",
    looked_up.DoctorOutcome: format_doctor,
    looked_up.RunsOutcome: listing_text.format_runs,
    looked_up.RunOutcome: listing_text.run_text,
    looked_up.CacheStatsOutcome: cache_text.format_cache_stats,
    looked_up.CacheStatusOutcome: cache_text.format_cache_status,
    looked_up.CacheVerifyOutcome: cache_text.verify_text,
    looked_up.CachePruneOutcome: cache_text.prune_text,
    looked_up.DocumentOutcome: _format_document,
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
