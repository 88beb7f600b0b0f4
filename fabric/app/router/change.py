"""`router dns-sync`, `dns-reconcile`, `dns-shift` and `dns-restore`: change DNS routing."""

from msgspec import Struct

from fabric.app.deploy.production_guard import AskFor, confirm_stage, refuse_prompt
from fabric.app.router.scope import RouterRequest, RouterScope, open_router
from fabric.app.router.sync import DnsChange, Synced, compute_router_drift, sync_router
from fabric.app.settings import Settings
from fabric.model.outcomes.routed import RouterReconcileOutcome, list_action_rows
from fabric.model.report import Report
from fabric.model.routing.routing import WHOLE, Weights
from fabric.router.diff import summarize_actions
from fabric.router.history import choose_restored_weights
from fabric.router.routing_warnings import list_routing_warnings
from fabric.router.weights import merge_weights, shift_weight


def sync_dns(
    asked: RouterRequest, settings: Settings, change: DnsChange, ask: AskFor = refuse_prompt
) -> Report:
    """Route to the currently deployed endpoints, with the current weights."""
    with open_router(asked, settings) as scope:
        _confirm(scope, change, settings, ask)
        done = sync_router(scope, change, settings)
        return _report(asked, done)


class WeightShift(Struct, frozen=True):
    """The new weight of one endpoint."""

    # A label, or the provider of one label.
    provider: str
    percent: int


def shift_dns(
    asked: RouterRequest,
    settings: Settings,
    change: DnsChange,
    shift: WeightShift,
    ask: AskFor = refuse_prompt,
) -> Report:
    """Give one endpoint another weight."""
    with open_router(asked, settings) as whole:
        label, percent = whole.label_of(shift.provider), shift.percent
        scope = whole.drop_missing_endpoints(label)
        _compute_shifted_weights(scope, whole, label, percent)
        _confirm(scope, change, settings, ask)
        done = sync_router(
            scope,
            change,
            settings,
            lambda one: _compute_shifted_weights(one, whole, label, percent),
        )
        return _report(asked, done)


def _compute_shifted_weights(
    scope: RouterScope, whole: RouterScope, label: str, percent: int
) -> Weights:
    """Compute the weights after a shift. A single remaining endpoint gets all traffic."""
    if scope.labels == (label,) != whole.labels and 1 <= percent < WHOLE:
        return ((label, WHOLE),)
    return shift_weight(scope.weights(), label, percent)


def restore_dns(
    asked: RouterRequest,
    settings: Settings,
    change: DnsChange,
    snapshot: str = "",
    ask: AskFor = refuse_prompt,
) -> Report:
    """Restore the weights of an applied snapshot. Endpoints added since keep a weight."""

    def choose_weights(scope: RouterScope) -> Weights:
        _, weights = choose_restored_weights(scope.files.history(), scope.weights(), snapshot)
        return merge_weights(dict(weights), scope.labels, scope.router.canary.percent)

    with open_router(asked, settings) as scope:
        choose_weights(scope)
        _confirm(scope, change, settings, ask)
        done = sync_router(scope, change, settings, choose_weights)
        return _report(asked, done)


def reconcile_dns(
    asked: RouterRequest,
    settings: Settings,
    change: DnsChange,
    ask: AskFor = refuse_prompt,
) -> Report:
    """Compare the desired state with the DNS backend, and repair it. A dry run changes nothing."""
    with open_router(asked, settings) as scope:
        if change.dry_run:
            scope.require_addresses()
            desired = scope.compute_routing(scope.weights())
            drift = compute_router_drift(scope, desired)
            outcome = RouterReconcileOutcome(
                dry_run=True,
                summary=summarize_actions(drift.actions),
                actions=list_action_rows(drift.actions),
            )
            told = scope.at_config(list_routing_warnings(desired, scope.dns.backend.kind))
            warnings = (*scope.warnings, *told)
            return Report(asked.command, outcome, warnings=warnings)
        _confirm(scope, change, settings, ask)
        done = sync_router(scope, change, settings)
    outcome = RouterReconcileOutcome(
        dry_run=False, summary=done.outcome.summary, actions=done.outcome.actions
    )
    return Report(asked.command, outcome, warnings=done.warnings)


def _confirm(scope: RouterScope, change: DnsChange, settings: Settings, ask: AskFor) -> None:
    if not change.dry_run:
        confirm_stage(scope.units, scope.config.stage, settings, ask)


def _report(asked: RouterRequest, done: Synced) -> Report:
    return Report(asked.command, done.outcome, warnings=done.warnings)
