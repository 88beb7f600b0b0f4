"""The desired REST API of a service on AWS. No effects."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.calls.cors import Cors
from fabric.model.calls.mapped_events import INTEGRATION
from fabric.model.hashing import hash_fields
from fabric.providers.cloud1.core.http_settings import (
    Authorizer,
    Domain,
    HttpSettings,
    JwtAuthorizer,
    Throttle,
    UsagePlan,
    format_authorizer_name,
    read_http_settings,
)
from fabric.providers.cloud1.core.permissions import parse_arn_home
from fabric.providers.cloud1.core.versions import build_alias_arn
from fabric.providers.cloud1.http.gateway_plan import (
    AuthorizerFunction,
    RouteAccess,
    build_log_format,
    find_authorizer_function,
    parse_trigger_cors,
    plan_access,
    plan_access_logs,
)
from fabric.providers.cloud1.http.rest_document import (
    DocumentParts,
    RequestRules,
    RestAttributes,
    RestMethod,
    build_document,
    build_scheme,
)
from fabric.providers.cloud1.http.rest_limits import parse_schemas
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.payloads import format_json

_LOG_FORMAT = build_log_format(
    requestId="requestId",
    time="requestTime",
    ip="identity.sourceIp",
    method="httpMethod",
    path="resourcePath",
    status="status",
    responseLength="responseLength",
    latency="responseLatency",
    error="error.message",
    integrationError="integrationErrorMessage",
    authorizerError="authorizer.error",
)
_MARK = "fabric "
_DIGEST = 32
_EVERYTHING = "*/*"
_STATEMENT = {
    "effect": "Effect",
    "principal": "Principal",
    "actions": "Action",
    "resources": "Resource",
    "condition": "Condition",
}
_ALLOWED = {
    "Effect": "Allow",
    "Principal": "*",
    "Action": "execute-api:Invoke",
    "Resource": "execute-api:/*",
}


class DesiredRestStage(Struct, frozen=True, kw_only=True):
    """The stage. `methods` are settings by method path, with the names of patch operations."""

    name: str
    methods: Mapping[str, Mapping[str, str]] = {}
    tracing: bool = False
    log_destination: str = ""
    log_format: str = ""
    # The log group, and how many days it keeps logs; 0 is forever.
    log_group: str = ""
    retention_days: int = 0


class DesiredUsage(Struct, frozen=True):
    """The usage plan and the API keys, by their names at AWS."""

    keys: tuple[str, ...] = ()
    plan: UsagePlan = UsagePlan()


class DesiredRestApi(Struct, frozen=True, kw_only=True):
    name: str
    # JSON; empty if the service has no REST API.
    document: str = ""
    attributes: RestAttributes = RestAttributes()
    stage: DesiredRestStage
    usage: DesiredUsage | None = None
    # Aliases that the API calls for routes, and as authorizers; by function.
    routed: Mapping[str, str] = {}
    authorizing: Mapping[str, str] = {}
    domain: Domain | None = None
    # The definitions that a later rollback can need.
    definitions: Mapping[str, Authorizer] = {}

    @property
    def mark(self) -> str:
        """The description of its deployment, by which a later run finds it."""
        return _MARK + hash_fields((self.document,))[:_DIGEST]

    @property
    def digest(self) -> str:
        fields = (self.attributes, self.stage, self.usage, self.domain)
        # Without the newer field the text is that of older versions.
        texts = (repr(one).replace(", key_source=''", "") for one in fields)
        return hash_fields((self.name, self.mark, *texts))

    @property
    def called_functions(self) -> frozenset[str]:
        return frozenset((*self.routed, *self.authorizing))


def is_own_deployment(description: object) -> bool:
    return str(description or "").startswith(_MARK)


def plan_rest_api(
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
    former: Mapping[str, Authorizer] | None = None,
) -> DesiredRestApi:
    """Plan the API. `former` are authorizers of earlier releases, which a rollback can need."""
    settings = read_http_settings(address)
    name = f"{address.service}-{address.stage}"
    known = {**(former or {}), **settings.authorizers}
    routes = _list_routes(functions, settings, known) if settings.is_rest else []
    if not routes:
        return DesiredRestApi(name=name, stage=DesiredRestStage(name=address.stage))
    methods = [one for one, _ in routes]
    used = {one.access.authorizer for one in methods}
    authorizers = {
        label: one
        for label, one in sorted(known.items())
        if format_authorizer_name(label, one) in used
    }
    called = {
        label: find_authorizer_function(label, one, functions) for label, one in authorizers.items()
    }
    attributes = plan_attributes(settings)
    cors: dict[str, list[Cors]] = {}
    for method, setting in routes:
        if setting:
            cors.setdefault(method.path, []).append(setting)
    parts = DocumentParts(
        name=name,
        methods=methods,
        cors=cors,
        schemes=dict(_build_schemes(authorizers, called)),
        attributes=attributes,
        responses=settings.gateway_responses,
    )
    return DesiredRestApi(
        name=name,
        document=format_json(build_document(parts)),
        attributes=attributes,
        stage=_plan_stage(address, settings, methods),
        usage=_plan_usage(name, settings),
        routed={one.function: one.alias for one in methods},
        authorizing={one.function: one.alias for one in called.values() if one.function},
        domain=settings.domain,
        definitions=known,
    )


def _build_schemes(
    authorizers: Mapping[str, Authorizer], called: Mapping[str, AuthorizerFunction]
) -> Iterable[tuple[str, dict[str, Any]]]:
    for label, one in authorizers.items():
        if not isinstance(one, JwtAuthorizer):
            arn = called[label].alias or getattr(one, "arn", "")
            yield format_authorizer_name(label, one), build_scheme(one, arn)


def _list_routes(
    functions: Sequence[LiveFunction], settings: HttpSettings, known: Mapping[str, Authorizer]
) -> list[tuple[RestMethod, Cors | None]]:
    """List the routes, each with its CORS settings. Raise for routes that AWS rejects."""
    found = []
    for one in functions:
        for number, trigger in enumerate(map(json.loads, one.triggers)):
            if trigger.get("type") == "http":
                access = plan_access(one.name, trigger, settings, known)
                trigger.setdefault("timeout", settings.timeout)
                method = _plan_method(one, number, trigger, access)
                found.append((method, parse_trigger_cors(trigger)))
    return sorted(found, key=lambda row: (row[0].path, row[0].method, row[0].function))


def _plan_method(
    function: LiveFunction, number: int, trigger: Mapping[str, Any], access: RouteAccess
) -> RestMethod:
    request = trigger.get("request") or {}
    return RestMethod(
        method=str(trigger.get("method") or "GET"),
        path=str(trigger.get("path") or "/"),
        function=function.name,
        alias=build_alias_arn(function.resource_id),
        number=number,
        access=access,
        needs_key=bool(trigger.get("apiKey")),
        rules=RequestRules(parse_schemas(request.get("schema")), request.get("parameters") or {}),
        milliseconds=round(float(trigger.get("timeout") or 0) * 1000),
        is_streamed=bool(trigger.get("stream")),
        is_mapped=trigger.get("integration") == INTEGRATION,
    )


def plan_attributes(settings: HttpSettings) -> RestAttributes:
    statements = [_build_statement(one) for one in settings.resource_policy]
    policy = {"Version": "2012-10-17", "Statement": statements}
    return RestAttributes(
        endpoint_type=(settings.endpoint_type or "regional").upper(),
        vpc_endpoints=tuple(sorted(settings.vpc_endpoint_ids)),
        binary_types=tuple(sorted(settings.binary_media_types)),
        compression_size=settings.minimum_compression_size,
        policy=format_json(policy) if statements else "",
        key_source="AUTHORIZER" if settings.api_key_source == "authorizer" else "",
        is_endpoint_disabled=settings.disable_default_endpoint and settings.domain is not None,
    )


def _build_statement(said: Mapping[str, Any]) -> dict[str, Any]:
    return {**_ALLOWED, **{_STATEMENT[key]: value for key, value in said.items()}}


def _plan_stage(
    address: DeploymentAddress, settings: HttpSettings, methods: Sequence[RestMethod]
) -> DesiredRestStage:
    everything = {"metrics/enabled": "true"} if settings.metrics else {}
    everything |= _build_limit(settings.throttle)
    own = {
        format_method_path(one): _build_limit(one.access.throttle)
        for one in methods
        if one.access.throttle
    }
    logs = plan_access_logs(address, settings)
    destination = parse_arn_home(methods[0].alias).of("logs", f"log-group:{logs.group}")
    return DesiredRestStage(
        name=address.stage,
        methods={**({_EVERYTHING: everything} if everything else {}), **own},
        tracing=settings.tracing,
        log_destination=destination if logs.group else "",
        log_format=(logs.format or _LOG_FORMAT) if logs.group else "",
        log_group=logs.group,
        retention_days=logs.retention_days,
    )


def format_method_path(one: RestMethod) -> str:
    """Return the method in paths of patch operations, which escape `/`."""
    return f"{one.path.replace('/', '~1')}/{one.method}"


def _build_limit(throttle: Throttle | None) -> dict[str, str]:
    if throttle is None:
        return {}
    return {
        "throttling/rateLimit": str(float(throttle.rate)),
        "throttling/burstLimit": str(throttle.burst),
    }


def _plan_usage(name: str, settings: HttpSettings) -> DesiredUsage | None:
    """Plan the usage plan. Keys need one: AWS accepts no others."""
    if not (settings.api_keys or settings.usage_plan):
        return None
    keys = tuple(sorted(f"{name}-{one}" for one in settings.api_keys))
    return DesiredUsage(keys, settings.usage_plan or UsagePlan())
