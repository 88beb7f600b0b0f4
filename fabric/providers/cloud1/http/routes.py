"""Temporarily divert the API routes of a service on AWS to a tunnel, and restore them."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Diversion
from fabric.providers.cloud1.core.client import GONE, MAX_PARALLEL, ONCE, ignore_codes
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.cloud1.functions.aliases import read_kept_state
from fabric.providers.cloud1.http.gateway import has_api, read_api_id
from fabric.providers.cloud1.http.gateway_calls import (
    GATEWAY,
    create_once,
    list_pages,
    require_created,
)
from fabric.providers.cloud1.http.rest_gateway import read_rest_id
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.retry import poll_until, run_parallel
from fabric.providers.core.routes import foreign_diversion_problem, other_account_problem

_API, _ACCOUNT, _REGION, _ROUTE = "api", "account", "region", "route:"
_OURS = "fabric invoke dev "
_TARGET = "integrations/"
Row = Mapping[str, Any]


def read_diversion(
    work: Cloud1Work, address: DeploymentAddress, url: str, mark: str
) -> Diversion | None:
    texts = read_kept_state(address).texts
    if read_rest_id(texts):
        message = f"`{address.service}` has a REST API, whose routes fabric does not divert"
        hint = "use `fabric dev`, or an HTTP API in this stage"
        raise FabricError(Problem("dev/not-wired", message, hint))
    api = read_api_id(texts)
    if not api:
        return None
    tunnels = {_TARGET + one["IntegrationId"] for one in _fetch_integrations(work, api, _OURS)}
    routes = [one for one in _fetch_routes(work, api) if one.get("Target")]
    if any(one["Target"] in tunnels for one in routes):
        raise FabricError(foreign_diversion_problem(address))
    targets = tuple((_ROUTE + one["RouteId"], str(one["Target"])) for one in routes)
    if not targets:
        return None
    region = str(work.functions.meta.region_name)
    place = ((_API, api), (_ACCOUNT, work.clients.account()), (_REGION, region))
    return Diversion(url, mark, (*place, *sorted(targets)))


def divert_api_routes(work: Cloud1Work, diversion: Diversion) -> Sequence[str]:
    before = dict(diversion.before)
    api = before[_API]
    target = _TARGET + _create_integration(work, api, diversion)
    turned = [one for one in _fetch_routes(work, api) if before.get(_ROUTE + one["RouteId"])]
    run_parallel(lambda route: _point_route(work, api, route, target), turned, MAX_PARALLEL)
    return sorted(one["RouteKey"] for one in turned)


def locate_diversion(address: DeploymentAddress, diversion: Diversion) -> DeploymentAddress:
    return replace(address, region=dict(diversion.before)[_REGION])


def restore_api_routes(work: Cloud1Work, diversion: Diversion) -> Sequence[str]:
    """Restore the routes of a diversion. A deleted API has no routes left to restore."""
    before = dict(diversion.before)
    if has_api(work, before[_API]):
        return _restore_each_route(work, diversion.mark, before)
    if work.clients.account() != before[_ACCOUNT]:
        raise FabricError(other_account_problem(before[_ACCOUNT]))
    return ()


def _restore_each_route(work: Cloud1Work, mark: str, before: Mapping[str, str]) -> Sequence[str]:
    """Restore routes before deleting integrations: an integration in use cannot be deleted."""
    api = before[_API]
    ours = [one["IntegrationId"] for one in _fetch_integrations(work, api, _OURS + mark)]
    routes = [one for one in _fetch_routes(work, api) if before.get(_ROUTE + one["RouteId"])]
    back = [one for one in routes if str(one.get("Target", "")).removeprefix(_TARGET) in ours]
    run_parallel(
        lambda one: _point_route(work, api, one, before[_ROUTE + one["RouteId"]]),
        back,
        MAX_PARALLEL,
    )
    calls = work.clients.of(GATEWAY)
    for integration in ours:
        with ignore_codes(GONE):
            calls.delete_integration(ApiId=api, IntegrationId=integration)
    others = (one for one in routes if one not in back)
    return sorted(
        one["RouteKey"] for one in others if one.get("Target") != before[_ROUTE + one["RouteId"]]
    )


def _create_integration(work: Cloud1Work, api: str, diversion: Diversion) -> str:
    """Create the tunnel integration. An existing one with our mark comes from this call and is
    reused."""
    named = _OURS + diversion.mark

    def look() -> str | None:
        return next((one["IntegrationId"] for one in _fetch_integrations(work, api, named)), None)

    def make() -> str:
        made = work.clients.of(GATEWAY, ONCE).create_integration(
            ApiId=api,
            Description=named,
            IntegrationType="HTTP_PROXY",
            IntegrationMethod="ANY",
            IntegrationUri=diversion.url,
            PayloadFormatVersion="1.0",
            # Without it each request would arrive at the path of the address itself.
            RequestParameters={"overwrite:path": "$request.path"},
        )
        return str(made["IntegrationId"])

    made = poll_until(lambda: create_once(make, look), work.scope.waiting, work.scope.watch)
    return require_created(made, "the route to the tunnel")


def _point_route(work: Cloud1Work, api: str, route: Row, target: str) -> None:
    """Point one route. A route deleted meanwhile needs no change."""
    calls = work.clients.of(GATEWAY)
    with ignore_codes(GONE):
        calls.update_route(ApiId=api, RouteId=route["RouteId"], Target=target)


def _fetch_routes(work: Cloud1Work, api: str) -> list[Row]:
    return list(list_pages(work.clients.of(GATEWAY), "get_routes", "Items", ApiId=api))


def _fetch_integrations(work: Cloud1Work, api: str, named: str) -> list[Row]:
    """Return the integrations whose description begins with this text."""
    found = list_pages(work.clients.of(GATEWAY), "get_integrations", "Items", ApiId=api)
    return [one for one in found if str(one.get("Description", "")).startswith(named)]
