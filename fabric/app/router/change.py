"""`router dns-sync`, `dns-reconcile`, `dns-shift` and `dns-restore`: change DNS routing."""

from fabric.app.deploy.protected import AskFor, confirm_stage, nobody_to_ask
from fabric.app.router.scope import RouterRequest, RouterScope, open_router
from fabric.app.router.sync import DnsChange, Synced, drift_in, synced
from fabric.app.settings import Settings
from fabric.model.outcomes.routed import RouterReconcileOutcome, action_rows
from fabric.model.report import Report
from fabric.model.routing import WHOLE, Weights
from fabric.router.diff import summary_of
from fabric.router.history import weights_to_restore
from fabric.router.routing_warnings import routing_warnings
from fabric.router.weights import kept_weights, shifted


def dns_sync(
    asked: RouterRequest, settings: Settings, change: DnsChange, ask: AskFor = nobody_to_ask
) -> Report:
    """Route to the currently deployed endpoints, with the current weights."""
    with open_router(asked, settings) as scope:
        _confirm(scope, change, settings, ask)
        done = synced(scope, change, settings)
        return _report(asked, done)


def dns_shift(
    asked: RouterRequest,
    settings: Settings,
    change: DnsChange,
    shift: tuple[str, int],
    ask: AskFor = nobody_to_ask,
) -> Report:
    """Set a weight. `shift` is a label, or the provider of one label, and its percentage."""
    with open_router(asked, settings) as whole:
        shift = whole.label_of(shift[0]), shift[1]
        scope = whole.led_away(shift[0])
        _shifted(scope, whole, shift)
        _confirm(scope, change, settings, ask)
        done = synced(scope, change, settings, lambda one: _shifted(one, whole, shift))
        return _report(asked, done)


def _shifted(scope: RouterScope, whole: RouterScope, shift: tuple[str, int]) -> Weights:
    """Compute the weights after a shift. A single remaining endpoint gets all traffic."""
    label, percent = shift
    if scope.labels == (label,) != whole.labels and 1 <= percent < WHOLE:
        return ((label, WHOLE),)
    return shifted(scope.weights(), label, percent)


def dns_restore(
    asked: RouterRequest,
    settings: Settings,
    change: DnsChange,
    snapshot: str = "",
    ask: AskFor = nobody_to_ask,
) -> Report:
    """Restore the weights of an applied snapshot. Endpoints added since keep a weight."""

    def chosen(scope: RouterScope) -> Weights:
        _, weights = weights_to_restore(scope.files.history(), scope.weights(), snapshot)
        return kept_weights(dict(weights), scope.labels, scope.router.canary.percent)

    with open_router(asked, settings) as scope:
        chosen(scope)
        _confirm(scope, change, settings, ask)
        done = synced(scope, change, settings, chosen)
        return _report(asked, done)


def dns_reconcile(
    asked: RouterRequest,
    settings: Settings,
    change: DnsChange,
    ask: AskFor = nobody_to_ask,
) -> Report:
    """Compare the desired state with the DNS backend, and repair it. A dry run changes nothing."""
    with open_router(asked, settings) as scope:
        if change.dry_run:
            scope.require_addresses()
            desired = scope.desired(scope.weights())
            drift = drift_in(scope, desired)
            outcome = RouterReconcileOutcome(
                dry_run=True, summary=summary_of(drift.actions), actions=action_rows(drift.actions)
            )
            told = scope.at_config(routing_warnings(desired, scope.backend.kind))
            warnings = (*scope.warnings, *told)
            return Report(asked.command, outcome, warnings=warnings)
        _confirm(scope, change, settings, ask)
        done = synced(scope, change, settings)
    outcome = RouterReconcileOutcome(
        dry_run=False, summary=done.outcome.summary, actions=done.outcome.actions
    )
    return Report(asked.command, outcome, warnings=done.warnings)


def _confirm(scope: RouterScope, change: DnsChange, settings: Settings, ask: AskFor) -> None:
    if not change.dry_run:
        confirm_stage(scope.units, scope.config.stage, settings, ask)


def _report(asked: RouterRequest, done: Synced) -> Report:
    return Report(asked.command, done.outcome, warnings=done.warnings)
