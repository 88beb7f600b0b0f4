"""The HTTP API of a service on AWS: one API, an integration for each function, and routes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fabric.providers.cloud1.core.client import (
    CONFLICT,
    GONE,
    MAX_PARALLEL,
    convert_client_errors,
    ignore_codes,
)
from fabric.providers.cloud1.core.permissions import build_gateway_permission, let_in, shut_out
from fabric.providers.cloud1.core.versions import Cloud1Work, build_ownership_tags
from fabric.providers.cloud1.functions.aliases import StoredReleaseState
from fabric.providers.cloud1.functions.log_groups import prepare_log_group
from fabric.providers.cloud1.http.api_domain import DOMAIN, DomainOrder, release_domain
from fabric.providers.cloud1.http.authorizers import (
    AUTHORIZERS,
    DEFAULT_STAGE,
    LOG_DAYS,
    STAGE,
    Row,
    close_authorizers,
    drop_authorizers,
    encode_definitions,
    set_authorizers,
    set_stage,
)
from fabric.providers.cloud1.http.gateway_calls import (
    GATEWAY,
    GatewayOrder,
    create_once,
    fetch_row,
    list_pages,
    require_created,
)
from fabric.providers.cloud1.http.gateway_plan import (
    DesiredGateway,
    GatewayRoute,
    IntegrationSettings,
    merge_cors,
)
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.retry import poll_until, run_parallel

_API, _ENDPOINT, _DIGEST = "api", "endpoint", "gateway"
_KEPT = (_API, _ENDPOINT, _DIGEST, AUTHORIZERS, STAGE, LOG_DAYS, DOMAIN)


def release_gateway(
    gateway: GatewayOrder,
    closed: frozenset[str],
    kept: StoredReleaseState,
    former: frozenset[str],
) -> dict[str, str]:
    """Update the API and return the values to store. `closed` functions must permit the API again,
    even if nothing else changed. `former` APIs of the service can have its domain."""
    wanted = gateway.wanted
    closed &= wanted.called_functions
    if is_gateway_current(wanted, kept) and not closed:
        return {name: kept.texts[name] for name in _KEPT if name in kept.texts}
    api = _find_existing_api(gateway, read_api_id(kept.texts)) or _create_api(gateway)
    gateway = replace(gateway, id=api["ApiId"])
    _set_cors(gateway, api)
    if not wanted.is_endpoint_disabled:
        _set_endpoint(gateway, api)
    ways = _ensure_integrations(gateway, closed)
    authorizers = set_authorizers(gateway, kept)
    gone = _set_routes(gateway, ways, authorizers)
    stage, stored = wanted.stage, kept.texts.get(LOG_DAYS, "")
    days = prepare_log_group(gateway.work, stage.log_group, stage.retention_days, stored)
    set_stage(gateway, kept)
    _drop_routes(gateway, gone)
    drop_authorizers(gateway, authorizers)
    _drop_ways(gateway, ways)
    order = DomainOrder(
        work=gateway.work,
        address=gateway.address,
        domain=wanted.domain,
        api=gateway.id,
        stage=DEFAULT_STAGE,
        former=former,
    )
    domain = release_domain(order, kept)
    if wanted.is_endpoint_disabled:
        _set_endpoint(gateway, api)
    endpoint = wanted.domain.url if wanted.is_endpoint_disabled and wanted.domain else None
    return {
        _API: gateway.id,
        _ENDPOINT: endpoint or api["ApiEndpoint"],
        _DIGEST: wanted.digest,
        **encode_definitions(gateway.work, wanted.definitions),
        **({STAGE: "set"} if wanted.stage.settings else {}),
        **({LOG_DAYS: days} if days else {}),
        **domain,
    }


def is_gateway_current(wanted: DesiredGateway, kept: StoredReleaseState) -> bool:
    """Return whether the last release has set all of this."""
    return bool(kept.sure(_DIGEST) == wanted.digest and kept.texts.get(_API))


def _set_endpoint(gateway: GatewayOrder, api: Mapping[str, Any]) -> None:
    """Set whether the API has its default address."""
    is_disabled = gateway.wanted.is_endpoint_disabled
    if bool(api.get("DisableExecuteApiEndpoint")) != is_disabled:
        gateway.calls.update_api(ApiId=gateway.id, DisableExecuteApiEndpoint=is_disabled)


def withdraw_gateway(gateway: GatewayOrder, apis: Iterable[str], kept: StoredReleaseState) -> None:
    """Delete APIs without a domain, and the permissions of the last one."""
    api = read_api_id(kept.texts)
    ways: Iterable[str] = ()
    with ignore_codes(GONE):
        ways = _fetch_integrations(replace(gateway, id=api)) if api else ()
        close_authorizers(replace(gateway, id=api), kept)
    delete_gateways(gateway.work, apis)
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


def find_gateways(
    work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState
) -> frozenset[str]:
    """Find the HTTP APIs of the service, also those missing in state: tags prove its ownership."""
    known = {kept.texts[_API]} if kept.texts.get(_API) else set()
    found = _find_tagged_apis(work.clients.of(GATEWAY), address)
    return frozenset(known | {one["ApiId"] for one in found})


def delete_gateways(work: Cloud1Work, apis: Iterable[str]) -> None:
    for api in sorted(apis):
        with ignore_codes(GONE):
            work.clients.of(GATEWAY).delete_api(ApiId=api)


def has_api(work: Cloud1Work, api: str) -> bool:
    return _fetch_api(work.clients.of(GATEWAY), api) is not None


def _find_existing_api(gateway: GatewayOrder, known: str) -> Mapping[str, Any] | None:
    found = _fetch_api(gateway.calls, known) if known else None
    return found or next(iter(_find_tagged_apis(gateway.calls, gateway.address)), None)


def _fetch_api(calls: Any, api: str) -> Mapping[str, Any] | None:
    return fetch_row(lambda: calls.get_api(ApiId=api))


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
    new = {alias for one, alias in aliases.items() if one in closed} | missing
    run_parallel(
        lambda alias: let_in(gateway.work, alias, build_gateway_permission(alias, gateway.id)),
        sorted(new),
        MAX_PARALLEL,
    )
    made = run_parallel(
        lambda alias: _create_integration(gateway, alias), sorted(missing), MAX_PARALLEL
    )
    ways = {**there, **dict(zip(sorted(missing), made, strict=True))}
    changed = [ways[one] for one in set(aliases.values()) if _is_changed(gateway, ways[one])]
    run_parallel(
        lambda way: gateway.calls.update_integration(
            ApiId=gateway.id,
            IntegrationId=way["IntegrationId"],
            PayloadFormatVersion=gateway.wanted.integration.payload,
            TimeoutInMillis=gateway.wanted.integration.milliseconds,
        ),
        changed,
        MAX_PARALLEL,
    )
    return {alias: str(one["IntegrationId"]) for alias, one in ways.items()}


def _is_changed(gateway: GatewayOrder, way: Mapping[str, Any]) -> bool:
    standard = IntegrationSettings()
    there = IntegrationSettings(
        way.get("PayloadFormatVersion", standard.payload),
        int(way.get("TimeoutInMillis", standard.milliseconds)),
    )
    return there != gateway.wanted.integration


def _fetch_integrations(gateway: GatewayOrder) -> dict[str, Mapping[str, Any]]:
    found = list_pages(gateway.calls, "get_integrations", "Items", ApiId=gateway.id)
    return {one["IntegrationUri"]: one for one in found}


def _create_integration(gateway: GatewayOrder, alias: str) -> Mapping[str, Any]:
    settings = gateway.wanted.integration
    is_standard = settings.milliseconds == IntegrationSettings().milliseconds

    def request() -> Mapping[str, Any]:
        made: Mapping[str, Any] = gateway.single.create_integration(
            ApiId=gateway.id,
            IntegrationType="AWS_PROXY",
            IntegrationUri=alias,
            PayloadFormatVersion=settings.payload,
            **({} if is_standard else {"TimeoutInMillis": settings.milliseconds}),
        )
        return made

    def integrate() -> Mapping[str, Any] | None:
        return create_once(request, lambda: _fetch_integrations(gateway).get(alias))

    return require_created(
        poll_until(integrate, gateway.work.scope.waiting, gateway.work.scope.watch),
        "an integration",
    )


def _set_routes(
    gateway: GatewayOrder, ways: Mapping[str, str], authorizers: Mapping[str, Row]
) -> list[str]:
    """Create and change routes. Return the ids of routes that the config no longer contains."""
    found = list_pages(gateway.calls, "get_routes", "Items", ApiId=gateway.id)
    there = {one["RouteKey"]: one for one in found}
    wanted = {one.key: one for one in gateway.wanted.routes}

    def put(route: GatewayRoute) -> None:
        row = there.get(route.key)
        asked = _build_route(route, ways[route.alias], authorizers, row or {})
        whose = f"function `{route.function}`, route `{route.key}`"
        with (
            attach_error_spot(route.function, route.number),
            convert_client_errors(whose, gateway.work.scope.quoted),
        ):
            _set_route(gateway, route.key, row, asked)

    run_parallel(put, list(wanted.values()), MAX_PARALLEL)
    return [one["RouteId"] for key, one in there.items() if key not in wanted]


def _build_route(
    route: GatewayRoute, way: str, authorizers: Mapping[str, Row], there: Mapping[str, Any]
) -> dict[str, Any]:
    """Build the fields of a route. Empty ones are sent only to clear an existing value."""
    access = route.access
    more = {
        "AuthorizerId": authorizers.get(access.authorizer, {}).get("AuthorizerId", ""),
        "AuthorizationScopes": list(access.scopes),
    }
    return {
        "Target": f"integrations/{way}",
        "AuthorizationType": access.authorization,
        **{name: value for name, value in more.items() if value or there.get(name)},
    }


def _set_route(
    gateway: GatewayOrder, key: str, there: Mapping[str, Any] | None, asked: Mapping[str, Any]
) -> None:
    if there is None:
        with ignore_codes(CONFLICT):  # made by this very call, whose answer was lost
            gateway.calls.create_route(ApiId=gateway.id, RouteKey=key, **asked)
    elif any(there.get(name, "NONE") != value for name, value in asked.items()):
        gateway.calls.update_route(ApiId=gateway.id, RouteId=there["RouteId"], **asked)


def _drop_routes(gateway: GatewayOrder, gone: Sequence[str]) -> None:
    run_parallel(
        lambda route: _delete(gateway.calls.delete_route, gateway, RouteId=route),
        gone,
        MAX_PARALLEL,
    )


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
