"""Results of `fabric router`: endpoints with weights, and DNS changes."""

from collections.abc import Mapping

from fabric.model.outcomes.deployed import ServiceEnd, TaskCounts
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.model.routing.routing import (
    EndpointShare,
    RouterAction,
    RouterPart,
    RouterResource,
    RouterVerb,
    Weights,
)


class RoutedEndpoint(JsonStruct, frozen=True):
    """One endpoint in the target state."""

    label: str
    provider: str
    url: str
    weight: int
    healthy: bool
    updated_at: str


class TargetState(JsonStruct, frozen=True):
    service: str
    stage: str
    endpoints: tuple[RoutedEndpoint, ...]


class RouterActionRow(JsonStruct, frozen=True):
    resource: RouterResource
    action: RouterVerb
    name: str
    detail: str


class RoutedShare(JsonStruct, frozen=True):
    label: str
    url: str
    weight: int


class DriftRow(JsonStruct, frozen=True):
    create: int
    update: int
    noop: int
    delete_candidate: int
    drift_detected: bool


class SyncEntry(JsonStruct, frozen=True):
    """One history entry: the user, the old and new routing, and the reason."""

    id: str
    operation: str
    trigger: str
    dry_run: bool
    created_at: str
    before: tuple[RoutedShare, ...]
    actions: tuple[RouterActionRow, ...]
    after: tuple[RoutedShare, ...]
    summary: DriftRow
    hostname: str = ""
    reason: str = ""
    desired: str = ""


class SyncOutcome(JsonStruct, frozen=True):
    """`weights` are the new weights, or with `dry_run` the would-be ones."""

    id: str
    service: str
    stage: str
    hostname: str
    provider: str
    simulated: bool
    place: str
    operation: str
    dry_run: bool
    weights: Mapping[str, int]
    endpoints: tuple[RoutedEndpoint, ...]
    summary: DriftRow
    actions: tuple[RouterActionRow, ...]
    reason: str = ""


class ShiftStep(JsonStruct, frozen=True):
    percent: int
    id: str
    weights: Mapping[str, int]


class StepsOutcome(JsonStruct, frozen=True):
    """The reached step and the final weights; the original ones if it `went_back`."""

    label: str
    steps: tuple[ShiftStep, ...]
    weights: Mapping[str, int]
    went_back: bool
    dry_run: bool


class RouterReconcileOutcome(JsonStruct, frozen=True):
    dry_run: bool
    summary: DriftRow
    actions: tuple[RouterActionRow, ...]


class TrendPoint(JsonStruct, frozen=True):
    id: str
    operation: str
    created_at: str
    weights: Mapping[str, int]


class HistoryOutcome(JsonStruct, frozen=True):
    """The entries, newest first. The trend contains applied weights, oldest first."""

    entries: tuple[SyncEntry, ...]
    trend: tuple[TrendPoint, ...]


class EndpointRow(JsonStruct, frozen=True):
    """An endpoint."""

    label: str
    provider: str
    url: str
    weight: int
    healthy: bool
    # None without a check or a response.
    latency_ms: int | None
    checked: bool
    detail: str = ""


class EndpointsOutcome(JsonStruct, frozen=True):
    service: str
    stage: str
    endpoints: tuple[EndpointRow, ...]


class ForeignRow(JsonStruct, frozen=True):
    resource: RouterResource
    name: str
    detail: str


class RouterStatusOutcome(JsonStruct, frozen=True):
    """`summary` is None while an endpoint has no address. `foreign` are DNS records of other owners
    in the way."""

    service: str
    stage: str
    hostname: str
    provider: str
    simulated: bool
    place: str
    ttl: int
    routing: str
    endpoints: tuple[EndpointRow, ...]
    summary: DriftRow | None
    foreign: tuple[ForeignRow, ...] = ()


class SimulateOutcome(JsonStruct, frozen=True):
    requests: int
    shares: Mapping[str, int]


class ScenarioRow(JsonStruct, frozen=True):
    down: tuple[str, ...]
    verdict: str
    shares: Mapping[str, int]
    detail: str


class ChaosOutcome(JsonStruct, frozen=True):
    scenarios: tuple[ScenarioRow, ...]


class RouterDeployOutcome(JsonStruct, frozen=True):
    """`sync` is the DNS result; None if not requested or not reached."""

    stage: str
    deployments: tuple[ServiceEnd, ...]
    sync: SyncOutcome | None = None
    rolled_back: bool = False
    summary: TaskCounts | None = None


def list_action_rows(actions: tuple[RouterAction, ...]) -> tuple[RouterActionRow, ...]:
    return tuple(RouterActionRow(one.resource, one.action, one.name, one.detail) for one in actions)


def list_foreign_rows(parts: tuple[RouterPart, ...]) -> tuple[ForeignRow, ...]:
    return tuple(ForeignRow(one.resource, one.name, one.detail) for one in parts)


def share_rows(shares: tuple[EndpointShare, ...]) -> tuple[RoutedShare, ...]:
    return tuple(RoutedShare(one.label, one.url, one.weight) for one in shares)


def map_weights(weights: Weights) -> Mapping[str, int]:
    return dict(weights)
