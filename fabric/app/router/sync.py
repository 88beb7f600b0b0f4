"""Update DNS: compare, confirm, apply and record in the history."""

import contextlib
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.router.health import check_endpoints, warn_of_unhealthy
from fabric.app.router.scope import RouterScope
from fabric.app.settings import Settings
from fabric.model.outcomes.routed import (
    EndpointRow,
    RoutedEndpoint,
    RoutedShare,
    SyncEntry,
    SyncOutcome,
    TargetState,
    list_action_rows,
    share_rows,
)
from fabric.model.problems import FabricError, Problem
from fabric.model.routing.routing import DesiredRouting, RouterPart, Weights
from fabric.providers.core.routes import READ_BY_NAME, NotEverywhereError
from fabric.router.diff import (
    Drift,
    compute_drift,
    foreign_problem,
    list_forbidden_verbs,
    summarize_actions,
)
from fabric.router.history import find_last_applied, list_former_names
from fabric.router.routing_warnings import (
    list_ineffective_shift_warnings,
    list_leftover_warnings,
    list_routing_warnings,
)
from fabric.router.settings import ChangeConsent, refuse_change
from fabric.state.records.transaction import lock_records
from fabric.system.clock import stamp
from fabric.system.files.disk import LOCK_SECONDS, lock_file, make_folder

NO_CONSENT = ChangeConsent()
Agrees = Callable[[str], bool]
Choose = Callable[[RouterScope], Weights]


class DnsChange(Struct, frozen=True):
    """A requested change: its history name and trigger, the dry-run flag, and the required
    confirmation."""

    operation: str
    trigger: str = "command"
    dry_run: bool = False
    consent: ChangeConsent = NO_CONSENT
    agrees: Agrees = lambda _: True


class Synced(Struct, frozen=True):
    outcome: SyncOutcome
    warnings: tuple[Problem, ...] = ()


def sync_router(
    scope: RouterScope, change: DnsChange, settings: Settings, choose: Choose | None = None
) -> Synced:
    """Apply the weights from `choose`, or keep the current ones.

    They are chosen under the lock, so that parallel shifts see each other's result.
    """
    choose = choose or RouterScope.weights
    scope.require_addresses()
    step = _Step(scope, change, settings)
    if change.dry_run:
        return step.finish(choose(scope))
    choose(scope)
    refuse_unasked(scope, change)
    refuse_simulated(scope)
    operation = f"router {change.operation}"
    with (
        lock_records(scope.record_store, {scope.ref: 0}, operation, scope.lock_policy),
        _name_locked(scope, settings),
    ):
        return step.finish(choose(scope))


@contextlib.contextmanager
def _name_locked(scope: RouterScope, settings: Settings) -> Iterator[None]:
    """Lock the hostname on this machine, because services do not share records.

    Across machines the DNS backends detect conflicts.
    """
    folder = settings.name_locks
    if scope.dns.is_simulated or folder is None:
        yield
        return
    make_folder(folder, 0o700)
    name = scope.router.hostname.lower().replace("*", "_")
    with lock_file(folder / f"{name}.lock", max(LOCK_SECONDS, scope.lock_policy.terms.wait)):
        yield


def refuse_unasked(scope: RouterScope, change: DnsChange) -> None:
    """Require all confirmations before DNS changes."""
    refuse_change(scope.router, scope.config.stage, change.consent, scope.env)
    if not change.agrees(f"Change DNS of {scope.router.hostname} ({scope.dns.backend.place})?"):
        raise FabricError(Problem("router/declined", "nothing was changed"))


def compute_router_drift(scope: RouterScope, desired: DesiredRouting) -> Drift:
    """Compute the required changes. Raises FabricError on foreign DNS records."""
    drift = inspect_drift(scope, desired)
    if drift.foreign:
        raise FabricError(*scope.at_config(foreign_problem(one) for one in drift.foreign))
    return drift


def inspect_drift(scope: RouterScope, desired: DesiredRouting) -> Drift:
    """Compute the drift, including foreign DNS records in its place."""
    there = (*scope.dns.backend.read(desired), *_list_former_parts(scope, desired))
    return compute_drift(scope.dns.backend.want(desired), there)


def _list_former_parts(scope: RouterScope, desired: DesiredRouting) -> Iterator[RouterPart]:
    """List leftovers at previous hostnames from the history. A deleted zone has none."""
    if scope.dns.backend.kind not in READ_BY_NAME:
        return
    for name in list_former_names(scope.files.readable_history(), desired.hostname):
        with contextlib.suppress(FabricError):
            parts = scope.dns.backend.read(replace(desired, hostname=name))
            yield from (one for one in parts if one.is_ours)


class _Step:
    """One change of one hostname."""

    def __init__(self, scope: RouterScope, change: DnsChange, settings: Settings) -> None:
        self._scope = scope
        self._change = change
        self._settings = settings

    def finish(self, weights: Weights) -> Synced:
        scope = self._scope
        desired = scope.compute_routing(weights)
        drift = compute_router_drift(scope, desired)
        before = scope.files.state()
        rows = self._check_endpoint_health(weights)
        state = self._build_state(desired, before, rows)
        entry = self._build_entry(desired, drift, before)
        late: tuple[Problem, ...] = ()
        if not self._change.dry_run:
            refuse_policy(scope, drift)
            late = _apply(scope, desired, drift, state)
        last = None if drift.changes or self._change.dry_run else find_last_entry(scope)
        damage = None
        if last is not None and last.desired == desired.digest:
            entry = replace(entry, id=last.id)  # nothing was done that history does not know
        else:
            damage = scope.files.add(entry)
        told = (
            *list_routing_warnings(desired, scope.dns.backend.kind),
            *list_leftover_warnings(drift.actions, scope.dns.backend.kind),
            *list_ineffective_shift_warnings(
                desired, _read_state_weights(before), scope.dns.backend.kind
            ),
            *warn_of_unhealthy(rows),
        )
        warnings = (*scope.warnings, *scope.at_config(told), *late, *((damage,) if damage else ()))
        return Synced(self._build_outcome(entry, desired, state), warnings)

    def _build_entry(
        self, desired: DesiredRouting, drift: Drift, before: TargetState | None
    ) -> SyncEntry:
        clock, change = self._settings.clock, self._change
        seconds = int(clock.now().timestamp())
        return SyncEntry(
            id=f"{self._scope.config.stage}-{seconds}-{self._settings.chance(3)}",
            operation=change.operation,
            trigger=change.trigger,
            dry_run=change.dry_run,
            created_at=stamp(clock),
            before=tuple(
                RoutedShare(one.label, one.url, one.weight) for one in _list_state_endpoints(before)
            ),
            actions=list_action_rows(drift.actions),
            after=share_rows(desired.shares),
            summary=summarize_actions(drift.actions),
            hostname=desired.hostname,
            reason=change.consent.reason,
            desired=desired.digest,
        )

    def _check_endpoint_health(self, weights: Weights) -> tuple[EndpointRow, ...]:
        """Check the endpoints, if the config enables health checks."""
        is_asked = self._scope.config.targets.health_check.enabled
        return check_endpoints(self._scope, weights) if is_asked else ()

    def _build_state(
        self, desired: DesiredRouting, before: TargetState | None, rows: tuple[EndpointRow, ...]
    ) -> TargetState:
        """Build the target state. Its times record the last weight change of each endpoint."""
        found = {one.label: one.healthy for one in rows}
        now = stamp(self._settings.clock)
        providers = {one.label: one.provider_id for one in self._scope.targets}
        was = {one.label: one for one in _list_state_endpoints(before)}
        kept = []
        for one in desired.shares:
            old = was.get(one.label)
            healthy = found.get(one.label, old.healthy if old else True)
            row = RoutedEndpoint(
                label=one.label,
                provider=providers[one.label],
                url=one.url,
                weight=one.weight,
                healthy=healthy,
                updated_at=now,
            )
            is_same = old is not None and replace(row, updated_at=old.updated_at) == old
            kept.append(old if old is not None and is_same else row)
        config = self._scope.config
        return TargetState(config.service, config.stage, tuple(kept))

    def _build_outcome(
        self, entry: SyncEntry, desired: DesiredRouting, state: TargetState
    ) -> SyncOutcome:
        scope, config = self._scope, self._scope.config
        return SyncOutcome(
            id=entry.id,
            service=config.service,
            stage=config.stage,
            hostname=desired.hostname,
            provider=scope.router.provider,
            simulated=scope.dns.is_simulated,
            place=scope.dns.backend.place,
            operation=entry.operation,
            dry_run=entry.dry_run,
            weights=dict(desired.weights),
            endpoints=state.endpoints,
            summary=entry.summary,
            actions=entry.actions,
            reason=entry.reason,
        )


def find_last_entry(scope: RouterScope) -> SyncEntry | None:
    return find_last_applied(scope.files.readable_history())


def _list_state_endpoints(state: TargetState | None) -> tuple[RoutedEndpoint, ...]:
    return state.endpoints if state else ()


def _read_state_weights(state: TargetState | None) -> Weights:
    return tuple((one.label, one.weight) for one in _list_state_endpoints(state))


def _apply(
    scope: RouterScope, desired: DesiredRouting, drift: Drift, state: TargetState
) -> tuple[Problem, ...]:
    """Write the target state first, so that a run after a crash continues it.

    If the backend rejects the change, the previous target state is restored. Slow propagation only
    causes a warning.
    """
    before = scope.files.state()
    scope.files.write_state(state)
    if not drift.changes:
        return ()
    try:
        scope.dns.backend.apply(desired, drift.actions)
    except NotEverywhereError as error:
        return error.problems
    except FabricError:
        scope.files.put_back(before)
        raise
    return ()


def refuse_simulated(scope: RouterScope) -> None:
    """Reject simulated endpoints, which have no server."""
    nowhere = [one.label for one in scope.targets if one.is_simulated]
    if nowhere and not scope.dns.is_simulated:
        message = (
            f"refusing to route `{scope.router.hostname}` to simulated endpoints: "
            f"{', '.join(nowhere)}; nothing was changed"
        )
        hint = "deploy them in real mode (FABRIC_REAL_DEPLOY=1), or use the DNS backend `local`"
        raise FabricError(Problem("router/simulated-endpoint", message, hint))


def refuse_policy(scope: RouterScope, drift: Drift) -> None:
    policy = scope.router.mutation_policy
    forbidden = [one for one in drift.changes if one.action in list_forbidden_verbs(policy)]
    if forbidden:
        names = ", ".join(f"{one.action} {one.resource} `{one.name}`" for one in forbidden[:3])
        message = f"`mutationPolicy: {policy}` forbids these changes: {names}; nothing was changed"
        raise FabricError(
            Problem("router/policy", message, "set `extensions.router.mutationPolicy: any`")
        )
