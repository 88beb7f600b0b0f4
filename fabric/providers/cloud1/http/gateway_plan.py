"""The desired HTTP API of a service on AWS. No effects."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import replace

from fabric.model.calls.cors import Cors, parse_cors_setting
from fabric.model.hashing import hash_fields
from fabric.model.names import DEFAULT_ROUTE
from fabric.model.problems import FabricError
from fabric.providers.cloud1.core.http_settings import (
    BY_KEY,
    AccessLogs,
    Authorizer,
    Domain,
    HttpSettings,
    JwtAuthorizer,
    LambdaAuthorizer,
    RequestAuthorizer,
    Throttle,
    build_authorizer_fields,
    format_authorizer_name,
    read_authorizer_name,
    read_http_settings,
)
from fabric.providers.cloud1.core.permissions import parse_arn_home
from fabric.providers.cloud1.core.versions import build_alias_arn
from fabric.providers.cloud1.http.http_limits import find_trigger_problems
from fabric.providers.cloud1.http.rest_limits import find_rest_trigger_problems
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.limits import function_problem


def build_log_format(**fields: str) -> str:
    """Build the format of access logs: variables of the request by their name in a line."""
    return json.dumps({name: f"$context.{field}" for name, field in fields.items()})


_LOG_FORMAT = build_log_format(
    requestId="requestId",
    time="requestTime",
    ip="identity.sourceIp",
    routeKey="routeKey",
    status="status",
    responseLength="responseLength",
    latency="responseLatency",
    error="integrationErrorMessage",
    authorizerError="authorizer.error",
)


class RouteAccess(Struct, frozen=True):
    """The authorization of a route, and its limit."""

    authorization: str = "NONE"
    # The name of the authorizer at AWS.
    authorizer: str = ""
    scopes: tuple[str, ...] = ()
    throttle: Throttle | None = None

    def __str__(self) -> str:
        """Return the text for the digest, which is that of older versions without newer fields."""
        more = (self.authorizer, self.scopes, self.throttle)
        return f"{self.authorization} {more}" if any(more) else self.authorization


class GatewayRoute(Struct, frozen=True):
    key: str
    function: str
    alias: str
    access: RouteAccess = RouteAccess()
    number: int = 0


class AuthorizerFunction(Struct, frozen=True):
    """The function of this service that an authorizer calls, if it calls one."""

    function: str = ""
    alias: str = ""


class GatewayAuthorizer(Struct, frozen=True):
    """`alias` is the function of this service that it calls, if it calls one."""

    name: str
    fields: Mapping[str, Any]
    function: str = ""
    alias: str = ""


class DesiredStage(Struct, frozen=True):
    """The settings of the stage, as fields of its API calls."""

    settings: Mapping[str, Any] = {}
    # The log group, and how many days it keeps logs; 0 is forever.
    log_group: str = ""
    retention_days: int = 0


class IntegrationSettings(Struct, frozen=True):
    payload: str = "2.0"
    milliseconds: int = 30_000


class DesiredGateway(Struct, frozen=True, kw_only=True):
    name: str
    routes: tuple[GatewayRoute, ...]
    cors: tuple[Cors, ...] = ()
    authorizers: tuple[GatewayAuthorizer, ...] = ()
    stage: DesiredStage = DesiredStage()
    integration: IntegrationSettings = IntegrationSettings()
    domain: Domain | None = None
    # Only the domain is an address.
    is_endpoint_disabled: bool = False
    # The definitions that a later rollback can need.
    definitions: Mapping[str, Authorizer] = {}

    @property
    def digest(self) -> str:
        routes = (f"{one.key} {one.alias} {one.access}" for one in self.routes)
        fields = (self.name, *routes, "", *map(repr, self.cors))
        more = (
            *((one.name, one.fields) for one in self.authorizers),
            *((self.stage,) if self.stage != DesiredStage() else ()),
            *((self.integration,) if self.integration != IntegrationSettings() else ()),
            *((self.domain, self.is_endpoint_disabled) if self.domain else ()),
        )
        return hash_fields((*fields, *(("settings", *map(repr, more)) if more else ())))

    @property
    def aliases(self) -> dict[str, str]:
        """Each function with a route, with its alias ARN."""
        return {one.function: one.alias for one in self.routes}

    @property
    def called_functions(self) -> frozenset[str]:
        """The functions that the API calls, for routes or as authorizers."""
        authorizers = (one.function for one in self.authorizers if one.function)
        return frozenset((*self.aliases, *authorizers))


def plan_gateway(
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
    former: Mapping[str, Authorizer] | None = None,
) -> DesiredGateway:
    """Plan the API. `former` are authorizers of earlier releases, which a rollback can need."""
    settings = read_http_settings(address)
    known = {**(former or {}), **settings.authorizers}
    routes, cors = [], []
    for one in () if settings.is_rest else functions:
        for number, trigger in enumerate(map(json.loads, one.triggers)):
            if trigger.get("type") == "http":
                access = plan_access(one.name, trigger, settings, known)
                path = trigger.get("path") or "/"
                key = path if path == DEFAULT_ROUTE else f"{trigger.get('method') or 'GET'} {path}"
                alias = build_alias_arn(one.resource_id)
                routes.append(GatewayRoute(key, one.name, alias, access, number))
                cors.append(parse_trigger_cors(trigger))
    used = {one.access.authorizer for one in routes}
    return DesiredGateway(
        name=f"{address.service}-{address.stage}",
        routes=tuple(sorted(routes, key=lambda one: (one.key, one.function, one.number))),
        cors=tuple(dict.fromkeys(one for one in cors if one is not None)),
        authorizers=tuple(
            _plan_authorizer(name, one, functions)
            for name, one in sorted(known.items())
            if format_authorizer_name(name, one) in used
        ),
        stage=_plan_stage(address, settings, routes),
        integration=IntegrationSettings(
            settings.event_format,
            round(settings.timeout * 1000) or IntegrationSettings().milliseconds,
        ),
        domain=settings.domain if routes else None,
        is_endpoint_disabled=settings.disable_default_endpoint and settings.domain is not None,
        definitions=known,
    )


def plan_access(
    function: str,
    trigger: Mapping[str, Any],
    settings: HttpSettings,
    known: Mapping[str, Authorizer],
) -> RouteAccess:
    problems = (
        *find_trigger_problems(settings, known, function, trigger),
        # A rollback can meet triggers of another kind: without its key a route would be open.
        *find_rest_trigger_problems(settings, function, trigger),
    )
    if problems:
        raise FabricError(*problems)
    name = read_authorizer_name(settings, trigger)
    throttle = convert(trigger.get("throttle"), Throttle | None)
    if name in ("", BY_KEY):
        return RouteAccess(name or "NONE", throttle=throttle)
    authorizer = known[name]
    kind = "JWT" if isinstance(authorizer, JwtAuthorizer) else "CUSTOM"
    own_name = format_authorizer_name(name, authorizer)
    return RouteAccess(kind, own_name, tuple(trigger.get("scopes") or ()), throttle)


def _plan_authorizer(
    name: str, authorizer: Authorizer, functions: Sequence[LiveFunction]
) -> GatewayAuthorizer:
    called = find_authorizer_function(name, authorizer, functions)
    arn = called.alias or getattr(authorizer, "arn", "")
    # A trigger with another one was rejected before.
    fields = (
        build_authorizer_fields(authorizer, arn)
        if isinstance(authorizer, JwtAuthorizer | RequestAuthorizer)
        else {}
    )
    own_name = format_authorizer_name(name, authorizer)
    return GatewayAuthorizer(own_name, fields, called.function, called.alias)


def find_authorizer_function(
    name: str, authorizer: Authorizer, functions: Sequence[LiveFunction]
) -> AuthorizerFunction:
    """Find the function that an authorizer calls. Raise if it is not deployed."""
    if not isinstance(authorizer, LambdaAuthorizer):
        return AuthorizerFunction()
    function = authorizer.function
    aliases = {one.name: build_alias_arn(one.resource_id) for one in functions}
    if function and function not in aliases:
        why = f"is the authorizer `{name}` of the API, and is not deployed"
        hint = "deploy the function, or remove the authorizer from the triggers"
        raise FabricError(function_problem(function, why, hint))
    return AuthorizerFunction(function, aliases.get(function, ""))


def _plan_stage(
    address: DeploymentAddress, settings: HttpSettings, routes: Sequence[GatewayRoute]
) -> DesiredStage:
    if not routes:
        return DesiredStage()
    limits = {one.key: one.access.throttle for one in routes if one.access.throttle}
    found: dict[str, Any] = {}
    if settings.throttle:
        found["DefaultRouteSettings"] = _build_limit(settings.throttle)
    if limits:
        found["RouteSettings"] = {key: _build_limit(one) for key, one in sorted(limits.items())}
    logs = plan_access_logs(address, settings)
    if not logs.group:
        return DesiredStage(found)
    home = parse_arn_home(routes[0].alias)
    found["AccessLogSettings"] = {
        "DestinationArn": home.of("logs", f"log-group:{logs.group}"),
        "Format": logs.format or _LOG_FORMAT,
    }
    return DesiredStage(found, logs.group, logs.retention_days)


def plan_access_logs(address: DeploymentAddress, settings: HttpSettings) -> AccessLogs:
    """Return the settings of access logs with the name of their group; without one if disabled."""
    logs = settings.access_logs
    if not logs:
        return AccessLogs()
    logs = AccessLogs() if logs is True else logs
    group = logs.group or f"/aws/vendedlogs/fabric/{address.service}-{address.stage}"
    return replace(logs, group=group)


def _build_limit(throttle: Throttle) -> dict[str, object]:
    return {"ThrottlingRateLimit": throttle.rate, "ThrottlingBurstLimit": throttle.burst}


def parse_trigger_cors(trigger: Mapping[str, object]) -> Cors | None:
    return parse_cors_setting(_format_cors(trigger.get("cors")))


def merge_cors(all_cors: Sequence[Cors]) -> dict[str, object]:
    """Merge the CORS settings of all routes: an API has one configuration."""
    credentials = any(one.credentials for one in all_cors)
    headers = _merge_values(one.headers for one in all_cors)
    found: dict[str, object] = {
        "AllowOrigins": _merge_values(one.origins for one in all_cors),
        "AllowMethods": _merge_values(one.methods for one in all_cors),
        "AllowHeaders": headers or ([] if credentials else ["*"]),
        "ExposeHeaders": _merge_values(one.exposed for one in all_cors),
        "AllowCredentials": credentials,
    }
    ages = [int(one.max_age) for one in all_cors if one.max_age.isdigit()]
    return {**found, "MaxAge": max(ages)} if ages else found


def _merge_values(parts: Iterable[tuple[str, ...]]) -> list[str]:
    return sorted({text for part in parts for text in part})


def _format_cors(cors: object) -> str:
    if isinstance(cors, bool):
        return "true" if cors else ""
    if isinstance(cors, dict):
        return json.dumps(cors, sort_keys=True)
    return str(cors or "")
