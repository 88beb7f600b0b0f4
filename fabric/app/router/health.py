"""How each endpoint is, and how long it takes to answer."""

from msgspec.structs import replace

from fabric.app.records.placed_deployers import build_health_url
from fabric.app.router.scope import RoutedTarget, RouterScope
from fabric.model.outcomes.routed import EndpointRow
from fabric.model.problems import FabricError, Problem
from fabric.model.routing.hosts import extract_request_target
from fabric.model.routing.routing import Weights
from fabric.system.http.http_check import call_function
from fabric.system.parallel import run_for_each

_SECONDS = 5.0
# Redirects are followed, as edge1's monitors do: what is answered in the end counts.
_GOOD, _OTHER = 200, 300


def check_endpoints(scope: RouterScope, shares: Weights | None = None) -> tuple[EndpointRow, ...]:
    """Check all real endpoints in parallel. Simulated endpoints have no server."""
    weights = dict(shares or scope.weights())
    found: dict[str, EndpointRow] = {}

    def look(target: RoutedTarget) -> None:
        found[target.label] = _build_endpoint_row(scope, target, weights[target.label])

    run_for_each(scope.targets, look)
    return tuple(found[label] for label in scope.labels)


def _build_endpoint_row(scope: RouterScope, target: RoutedTarget, weight: int) -> EndpointRow:
    row = EndpointRow(
        target.label,
        target.provider_id,
        target.url,
        weight,
        healthy=bool(target.url),
        latency_ms=None,
        checked=False,
        detail="simulated" if target.url else "not deployed",
    )
    if not target.url or target.is_simulated:
        return row
    said = scope.config.targets.health_check.url
    url = build_health_url(extract_request_target(said) if said else "", target.url)
    try:
        answer = call_function("GET", url, b"", _SECONDS)
    except FabricError as error:
        return replace(row, healthy=False, checked=True, detail=error.first.message)
    is_good = _GOOD <= answer.status < _OTHER
    return replace(
        row,
        healthy=is_good,
        checked=True,
        latency_ms=answer.ms,
        detail=f"status {answer.status}",
    )


def warn_of_unhealthy(rows: tuple[EndpointRow, ...]) -> tuple[Problem, ...]:
    """Warn of unhealthy endpoints that receive traffic. The user decides."""
    return tuple(
        Problem(
            "router/unhealthy-endpoint",
            f"unhealthy endpoint `{one.label}` receives {one.weight} % of traffic: {one.detail}",
            hint="fix the endpoint, or shift traffic away: fabric router dns-shift",
        )
        for one in rows
        if one.checked and not one.healthy
    )
