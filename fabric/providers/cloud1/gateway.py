"""The HTTP API of a service on AWS: one API, an integration for each function, and routes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.aliases import StoredReleaseState
from fabric.providers.cloud1.client import (
    CONFLICT,
    GONE,
    MAX_PARALLEL,
    ONCE,
    convert_client_errors,
    ignore_codes,
)
from fabric.providers.cloud1.gateway_plan import DesiredGateway, GatewayRoute, merge_cors
from fabric.providers.cloud1.permissions import build_gateway_permission, let_in, shut_out
from fabric.providers.cloud1.versions import Cloud1Work, build_ownership_tags
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.retry import poll_until, run_parallel

_STAGE = "$default"
_API, _ENDPOINT, _DIGEST = "api", "endpoint", "gateway"


class GatewayOrder(Struct, frozen=True):
    """One API with its desired configuration."""

    work: Cloud1Work
    address: DeploymentAddress
    wanted: DesiredGateway
    id: str = ""

    @property
    def calls(self) -> Any:
        return self.work.clients.of(GATEWAY)

    @property
    def single(self) -> Any:
        """A client without retries, for calls that would create a duplicate after a lost
        response."""
        return self.work.clients.of(GATEWAY, ONCE)


def release_gateway(
    gateway: GatewayOrder, closed: frozenset[str], kept: StoredReleaseState
) -> dict[str, str]:
    """Update the API and return the values to store. `closed` functions must permit the API again,
    even if nothing else changed."""
    wanted = gateway.wanted
    closed &= wanted.aliases.keys()
    if not wanted.routes:
        _delete_unused_api(gateway, kept)
        return {}
    if kept.sure(_DIGEST) == wanted.digest and not closed and kept.texts.get(_API):
        return {name: kept.texts[name] for name in (_API, _ENDPOINT, _DIGEST)}
    api = _find_existing_api(gateway, read_api_id(kept.texts)) or _create_api(gateway)
    gateway = replace(gateway, id=api["ApiId"])
    _set_cors(gateway, api)
    ways = _ensure_integrations(gateway, closed)
    _set_routes(gateway, ways)
    _drop_ways(gateway, ways)
    with ignore_codes(CONFLICT):
        gateway.calls.create_stage(ApiId=gateway.id, StageName=_STAGE, AutoDeploy=True)
    return {_API: gateway.id, _ENDPOINT: api["ApiEndpoint"], _DIGEST: wanted.digest}


def _delete_unused_api(gateway: GatewayOrder, kept: StoredReleaseState) -> None:
    """Delete the API of a service without routes. Without a stored API there is no search."""
    api = read_api_id(kept.texts)
    ways: dict[str, str] = {}
    with ignore_codes(GONE):
        ways = _fetch_integrations(replace(gateway, id=api)) if api else {}
    if api or not kept.is_sure:
        remove_gateway(gateway.work, gateway.address, kept.texts)
    aliases = sorted(filter(_is_function, ways))
    run_parallel(
        lambda alias: shut_out(gateway.work, alias, build_gateway_permission(alias, api)),
        aliases,
        MAX_PARALLEL,
    )


def read_api_id(kept: Mapping[str, str]) -> str:
    return kept.get(_API, "")


def read_api_endpoint(kept: Mapping[str, str]) -> str:
    return kept.get(_ENDPOINT, "")


def remove_gateway(work: Cloud1Work, address: DeploymentAddress, kept: Mapping[str, str]) -> None:
    """Delete the API, also one missing in state: tags prove its ownership."""
    calls = work.clients.of(GATEWAY)
    known = {kept[_API]} if kept.get(_API) else set()
    for api in known | {one["ApiId"] for one in _find_tagged_apis(calls, address)}:
        with ignore_codes(GONE):
            calls.delete_api(ApiId=api)


def has_api(work: Cloud1Work, api: str) -> bool:
    return _fetch_api(work.clients.of(GATEWAY), api) is not None


def _find_existing_api(gateway: GatewayOrder, known: str) -> Mapping[str, Any] | None:
    found = _fetch_api(gateway.calls, known) if known else None
    return found or next(iter(_find_tagged_apis(gateway.calls, gateway.address)), None)


def _fetch_api(calls: Any, api: str) -> Mapping[str, Any] | None:
    found: list[Mapping[str, Any]] = []
    with ignore_codes(GONE):
        found.append(calls.get_api(ApiId=api))
    return next(iter(found), None)


def _find_tagged_apis(calls: Any, address: DeploymentAddress) -> list[Mapping[str, Any]]:
    wanted = build_ownership_tags(address).items()
    apis = list_pages(calls, "get_apis", "Items")
    ours = (one for one in apis if wanted <= (one.get("Tags") or {}).items())
    return sorted(ours, key=lambda one: str(one["ApiId"]))


def _create_api(gateway: GatewayOrder) -> Mapping[str, Any]:
    def create() -> Mapping[str, Any] | None:
        return create_once(
            lambda: _request_new_api(gateway),
            lambda: next(iter(_find_tagged_apis(gateway.calls, gateway.address)), None),
        )

    made = poll_until(create, gateway.work.scope.waiting, gateway.work.scope.watch)
    return require_created(made, "an HTTP API")


def _request_new_api(gateway: GatewayOrder) -> Mapping[str, Any]:
    tags = build_ownership_tags(gateway.address)
    made: Mapping[str, Any] = gateway.single.create_api(
        Name=gateway.wanted.name, ProtocolType="HTTP", Tags=tags
    )
    return made


def _set_cors(gateway: GatewayOrder, api: Mapping[str, Any]) -> None:
    """Set the permissions of pages from other origins."""
    there = api.get("CorsConfiguration") or {}
    if not gateway.wanted.cors:
        if there:
            gateway.calls.delete_cors_configuration(ApiId=gateway.id)
        return
    wanted = merge_cors(gateway.wanted.cors)
    if any(there.get(name, type(value)()) != value for name, value in wanted.items()):
        gateway.calls.update_api(ApiId=gateway.id, CorsConfiguration=wanted)


def _ensure_integrations(gateway: GatewayOrder, closed: frozenset[str]) -> dict[str, str]:
    """Return the integration of each public function. Functions permit the API first, so every
    existing integration works."""
    there = _fetch_integrations(gateway)
    aliases = gateway.wanted.aliases
    missing = {alias for alias in aliases.values() if alias not in there}
    new = {aliases[one] for one in closed} | missing
    run_parallel(
        lambda alias: let_in(gateway.work, alias, build_gateway_permission(alias, gateway.id)),
        sorted(new),
        MAX_PARALLEL,
    )
    made = run_parallel(
        lambda alias: _create_integration(gateway, alias), sorted(missing), MAX_PARALLEL
    )
    return {**there, **dict(zip(sorted(missing), made, strict=True))}


def _fetch_integrations(gateway: GatewayOrder) -> dict[str, str]:
    found = list_pages(gateway.calls, "get_integrations", "Items", ApiId=gateway.id)
    return {one["IntegrationUri"]: one["IntegrationId"] for one in found}


def _create_integration(gateway: GatewayOrder, alias: str) -> str:
    def integrate() -> str | None:
        return create_once(
            lambda: str(
                gateway.single.create_integration(
                    ApiId=gateway.id,
                    IntegrationType="AWS_PROXY",
                    IntegrationUri=alias,
                    PayloadFormatVersion="2.0",
                )["IntegrationId"]
            ),
            lambda: _fetch_integrations(gateway).get(alias),
        )

    return require_created(
        poll_until(integrate, gateway.work.scope.waiting, gateway.work.scope.watch),
        "an integration",
    )


def _set_routes(gateway: GatewayOrder, ways: Mapping[str, str]) -> None:
    found = list_pages(gateway.calls, "get_routes", "Items", ApiId=gateway.id)
    there = {one["RouteKey"]: one for one in found}
    wanted = {one.key: one for one in gateway.wanted.routes}

    def put(route: GatewayRoute) -> None:
        target = f"integrations/{ways[route.alias]}"
        asked = {"Target": target, "AuthorizationType": route.authorization}
        whose = f"function `{route.function}`, route `{route.key}`"
        with (
            attach_error_spot(route.function, route.number),
            convert_client_errors(whose, gateway.work.scope.quoted),
        ):
            _set_route(gateway, route.key, there.get(route.key), asked)

    run_parallel(put, list(wanted.values()), MAX_PARALLEL)
    gone = [one["RouteId"] for key, one in there.items() if key not in wanted]
    run_parallel(
        lambda route: _delete(gateway.calls.delete_route, gateway, RouteId=route),
        gone,
        MAX_PARALLEL,
    )


def _set_route(
    gateway: GatewayOrder, key: str, there: Mapping[str, Any] | None, asked: Mapping[str, str]
) -> None:
    if there is None:
        with ignore_codes(CONFLICT):  # made by this very call, whose answer was lost
            gateway.calls.create_route(ApiId=gateway.id, RouteKey=key, **asked)
    elif any(there.get(name, "NONE") != value for name, value in asked.items()):
        gateway.calls.update_route(ApiId=gateway.id, RouteId=there["RouteId"], **asked)


def _drop_ways(gateway: GatewayOrder, ways: Mapping[str, str]) -> None:
    """Delete integrations without a route: of deleted functions and of other addresses."""
    wanted = frozenset(gateway.wanted.aliases.values())
    for way, integration in ways.items():
        if way in wanted:
            continue
        _delete(gateway.calls.delete_integration, gateway, IntegrationId=integration)
        if _is_function(way):
            shut_out(gateway.work, way, build_gateway_permission(way, gateway.id))


def _is_function(way: str) -> bool:
    return way.startswith("arn:")


def _delete(call: Callable[..., object], gateway: GatewayOrder, **which: str) -> None:
    with ignore_codes(GONE):
        call(ApiId=gateway.id, **which)


GATEWAY = "apigatewayv2"
_SERVER_ERROR, _TOO_MANY = 500, 429
T = TypeVar("T")


def list_pages(calls: Any, operation: str, rows: str, **asked: str) -> Iterable[Mapping[str, Any]]:
    for page in calls.get_paginator(operation).paginate(**asked):
        yield from page[rows]


def create_once(make: Callable[[], T], look: Callable[[], T | None]) -> T | None:
    """Create a resource without duplicates. After a lost or throttled response, look for it.

    None means that it does not exist, so the call can be repeated.
    """
    from botocore import exceptions as wrong

    try:
        return make()
    except (wrong.HTTPClientError, wrong.ConnectionError):
        return look()
    except wrong.ClientError as error:
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        if status < _SERVER_ERROR and status != _TOO_MANY:
            raise
        return look()


def require_created(found: T | None, what: str) -> T:
    if found is None:
        message = f"timeout: AWS returned no response for a minute while creating {what}"
        raise FabricError(Problem("provider/unreachable", message, "run the command again"))
    return found
