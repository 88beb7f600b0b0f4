"""Text for each kind of outcome except builds."""

import json
from collections.abc import Callable, Mapping

from fabric.model.amounts import plural
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
from fabric.views.doctor_text import doctor_text
from fabric.views.observed_text import logs_text, metrics_text, traces_text
from fabric.views.style import Style


def _invoke_text(called: looked_up.InvokeOutcome, _style: Style) -> str:
    return json.dumps(called.response)


def _served_text(served: looked_up.ServedOutcome, _style: Style) -> str:
    calls = plural(served.calls, "call")
    return f"{calls}, {served.failed} failed" if served.failed else calls


def _document_text(given: looked_up.DocumentOutcome, _style: Style) -> str:
    return given.words


TEXTS: Mapping[type[JsonStruct], Callable[..., str]] = {
    planned.PlanOutcome: plan_text.plan_text,
    planned.ExplainOutcome: plan_text.explain_text,
    deployed.DeployOutcome: deploy_text.deploy_text,
    deployed.RemoveOutcome: deploy_text.removal_text,
    deployed.RollbackOutcome: deploy_text.rollback_text,
    deployed.ReleasesOutcome: deploy_text.releases_text,
    deployed.OutputsOutcome: deploy_text.outputs_text,
    generated.GenerateOutcome: generate_text.generate_text,
    looked_up.ValidOutcome: listing_text.valid_text,
    looked_up.ConfigOutcome: listing_text.config_text,
    looked_up.ServicesOutcome: listing_text.services_text,
    looked_up.InvokeOutcome: _invoke_text,
    looked_up.ServedOutcome: _served_text,
    looked_up.StreamedOutcome: streamed_text.streamed_text,
    looked_up.RestoredOutcome: streamed_text.restoration_text,
    looked_up.DevOutcome: lambda _dev, _style: "",
    looked_up.DoctorOutcome: doctor_text,
    looked_up.RunsOutcome: listing_text.runs_text,
    looked_up.RunOutcome: listing_text.run_text,
    looked_up.CacheStatsOutcome: cache_text.stats_text,
    looked_up.CacheStatusOutcome: cache_text.status_text,
    looked_up.CacheVerifyOutcome: cache_text.verify_text,
    looked_up.CachePruneOutcome: cache_text.prune_text,
    looked_up.DocumentOutcome: _document_text,
    watched.LogsOutcome: logs_text,
    watched.MetricsOutcome: metrics_text,
    watched.TracesOutcome: traces_text,
    recorded.RecordsOutcome: state_text.list_text,
    recorded.RecordOutcome: state_text.show_text,
    recorded.StoredOutcome: state_text.stored_text,
    recorded.BackupOutcome: state_text.backup_text,
    recorded.RestoreOutcome: state_text.restore_text,
    recorded.MigrateOutcome: state_text.migrate_text,
    recorded.PushOutcome: state_text.push_text,
    recorded.ForgetOutcome: state_text.forget_text,
    recorded.UnlockOutcome: state_text.unlock_text,
    recorded.ReconcileOutcome: state_text.reconcile_text,
    routed.RouterDeployOutcome: router_text.deploy_text,
    routed.StepsOutcome: router_text.steps_text,
    routed.SyncOutcome: router_text.sync_text,
    routed.RouterReconcileOutcome: router_text.reconcile_text,
    routed.HistoryOutcome: router_text.history_text,
    routed.RouterStatusOutcome: router_text.status_text,
    routed.EndpointsOutcome: router_text.endpoints_text,
    routed.SimulateOutcome: router_text.simulate_text,
    routed.ChaosOutcome: router_text.chaos_text,
}
