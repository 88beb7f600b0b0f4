"""APIs of AWS SAM to the API of the service."""

from collections.abc import Iterator

from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.event_target import ApiRoute, EventTarget
from fabric.importing.policies import put_resource_policy
from fabric.importing.rules import (
    Rules,
    apply_rules,
    carry,
    change_because,
    copy_as,
    drop_because,
    flag_as,
    inside,
    is_function,
    is_true,
    lose_because,
    lower_as,
    number_as,
    share,
    texts_as,
)
from fabric.importing.sam.documents import HTTP, REST
from fabric.importing.sam.events import normalize_name, put_throttle
from fabric.importing.serverless.api import PAYLOAD_CHANGES, USAGE_PLAN_RULES, put_cors_of_routes
from fabric.importing.serverless.events import put_authorizer_function
from fabric.importing.source import At

_NAMED = drop_because("fabric names and describes the API itself")


def convert_apis(context: Context, source: At, config: Fields, target: EventTarget) -> None:
    """Convert the API of the service and its defaults. A service has one API."""
    _put_kind(context, source, target)
    kind = REST if target.has_rest_api else HTTP
    apis = [
        one
        for one in source.get("Resources").list_entries()
        if one.get("Type").text in (REST, HTTP) and one.key not in target.documents
    ]
    found = [one for one in apis if one.get("Type").text == kind]
    for one in (*found[1:], *(one for one in apis if one.get("Type").text != kind)):
        hint = "split the service, or use the settings of one API"
        reason = "a service has one API in fabric"
        if not one.get("Properties", "Auth").is_missing:
            reason = f"{reason}: routes of this API are public now"
            hint = f"set `authorizer` of its routes; {hint}"
        context.ledger.lose(one, reason, hint)
    shared = source.get("Globals", "Api" if target.has_rest_api else "HttpApi")
    for at in (shared, *(one.get("Properties") for one in found[:1])):
        apply_rules(context, at, _API_RULES, target.http)
        if is_true(at.get("Auth", "ApiKeyRequired")):
            reason = "each route requires a key"
            context.ledger.change(at.get("Auth", "ApiKeyRequired"), reason, "apiKey: true")
        _put_route_limits(context, at.get("MethodSettings"), config)
        for key in ("Cors", "CorsConfiguration"):
            if not at.get(key).is_missing:
                put_cors_of_routes(context, at.get(key), config)
    for route in target.routes:
        _put_access(source, route, target, main=found[0].key if found else "")
    _note_other_defaults(context, source, target)


def _note_other_defaults(context: Context, source: At, target: EventTarget) -> None:
    """Note the defaults of APIs of the other kind, which only those with a document can have."""
    is_rest = not target.has_rest_api
    at = source.get("Globals", "Api" if is_rest else "HttpApi")
    kind = REST if is_rest else HTTP
    apis = [
        one.key for one in source.get("Resources").list_entries() if one.get("Type").text == kind
    ]
    if set(apis) - target.documents or (target.is_rest if is_rest else target.is_http):
        context.ledger.lose(at, "a service has one API in fabric", "use the settings of one API")
    elif apis:
        context.ledger.carry(at)
    else:
        context.ledger.drop(at, "no API of the template uses it")


def _put_access(source: At, route: ApiRoute, target: EventTarget, *, main: str) -> None:
    """Keep the access to a route as its own API requires it. fabric has one API, and no setting
    that requires a key for all routes."""
    trigger, http = route.trigger, target.http
    own = source.get("Resources", route.api, "Properties", "Auth") if route.api else At(None)
    shared = source.get("Globals", "Api" if route.kind == REST else "HttpApi", "Auth")

    def read(key: str) -> At:
        return shared.get(key) if own.get(key).is_missing else own.get(key)

    if target.has_rest_api and not trigger.has("apiKey") and is_true(read("ApiKeyRequired")):
        trigger.put_flag("apiKey", value=True)
    elif trigger.get("apiKey") is False:
        trigger.remove("apiKey")
    is_of_main = route.api == main and (route.kind == REST) == target.has_rest_api
    if is_of_main or not http.has("defaultAuthorizer") or trigger.has("authorizer"):
        return
    name = normalize_name(read("DefaultAuthorizer").text)
    if not name:
        trigger.put("authorizer", "none")
    elif name != http.get("defaultAuthorizer") and http.child("authorizers").has(name):
        trigger.put("authorizer", name)


def _list_routes(config: Fields) -> Iterator[Fields]:
    """List the HTTP triggers of all functions."""
    functions = config.get("functions")
    for function in functions if isinstance(functions, list) else ():
        triggers = function.get("triggers") if isinstance(function, Fields) else None
        for one in triggers if isinstance(triggers, list) else ():
            if isinstance(one, Fields) and one.get("type") == "http":
                yield one


def _put_route_limits(context: Context, at: At, config: Fields) -> None:
    """Put the limits of single methods into their routes."""
    for item in filter(_is_of_route, at.list_items()):
        path = f"/{item.get('ResourcePath').text.replace('~1', '/').strip('/')}"
        method = item.get("HttpMethod").text.upper()
        is_any = method in ("*", "")
        parts = ((one, str(one.get("route")).partition(":")) for one in _list_routes(config))
        found = [
            one for one, (own, _, at_path) in parts if at_path == path and (is_any or own == method)
        ]
        for one in found:
            put_throttle(context, item, one)
        if found:
            apply_rules(context, item, _ROUTE_RULES, Fields())
        else:
            context.ledger.lose(item, f"the API has no route `{method} {path}`")


def _is_of_route(item: At) -> bool:
    """Return whether an item of `MethodSettings` is about one path or method."""
    every = (item.get("ResourcePath").text, item.get("HttpMethod").text)
    return every[0] not in ("", "/*", "*") or every[1] not in ("", "*")


def _put_kind(context: Context, source: At, target: EventTarget) -> None:
    if target.has_rest_api:
        target.http.put("kind", "rest")
        target.http.put("endpointType", "edge")
    elif target.is_rest:
        reason = "a service has one API in fabric: routes of the REST API join the HTTP API"
        context.ledger.remark(source.get("Resources"), reason, "http.kind: http")
        context.ledger.remark(source.get("Resources"), PAYLOAD_CHANGES, "http.payload: 2.0")
    _put_payload(context, target)


def _put_payload(context: Context, target: EventTarget) -> None:
    """Put the payload version, of which an API of fabric has one."""
    is_older = {one.text == "1.0" for one in target.payloads} == {True}
    if is_older:
        target.http.put("payload", "1.0")
    for one in target.payloads:
        if one.text == "1.0" and not is_older:
            hint = "set `http.payload`, which applies to all routes"
            context.ledger.lose(one, "other routes of the API have the payload version 2.0", hint)
        elif not one.is_missing:
            context.ledger.carry(one)


def _put_types(context: Context, at: At, http: Fields) -> None:
    texts = [text.replace("~1", "/") for text in context.read_texts(at)]
    context.put(at, http, "binaryMediaTypes", texts)


def _put_endpoint(context: Context, at: At, http: Fields) -> None:
    kind = at.get("Type") if at.is_map else at
    context.put(kind, http, "endpointType", context.read_text(kind).lower())
    ids = at.get("VPCEndpointIds")
    context.put(ids, http, "vpcEndpointIds", context.read_texts(ids))


def _put_logs(context: Context, at: At, http: Fields) -> None:
    logs = Fields(at)
    apply_rules(context, at, {"Format": copy_as("format")}, logs)
    if is_function(at):
        return
    http.put("accessLogs", logs.or_true(), at)
    if not at.get("DestinationArn").is_missing:
        context.ledger.change(at.get("DestinationArn"), "fabric creates the log group")


def _put_limits(context: Context, at: At, http: Fields) -> None:
    """Convert the settings of all methods."""
    for item in at.list_items():
        if _is_of_route(item):
            continue
        put_throttle(context, item, http)
        apply_rules(context, item, _METHOD_RULES, http)


_METHOD_RULES: Rules = {
    **share(("MetricsEnabled", "DetailedMetricsEnabled"), flag_as("metrics")),
    **share(("ResourcePath", "HttpMethod"), carry),
    **share(
        ("LoggingLevel", "DataTraceEnabled", "CachingEnabled", "CacheTtlInSeconds"),
        lose_because("fabric has no such setting of methods"),
    ),
}


_ROUTE_RULES: Rules = {
    **share(("ResourcePath", "HttpMethod", "ThrottlingRateLimit", "ThrottlingBurstLimit"), carry),
    **share(
        (
            *("LoggingLevel", "DataTraceEnabled", "CachingEnabled", "CacheTtlInSeconds"),
            *("MetricsEnabled", "DetailedMetricsEnabled"),
        ),
        lose_because("fabric has no such setting of methods"),
    ),
}


def _put_authorizers(context: Context, at: At, http: Fields) -> None:
    for one in at.list_entries():
        name = normalize_name(one.key)
        _convert_authorizer(context, one, http.child("authorizers", at).child(name, one))


def _put_default_authorizer(context: Context, at: At, http: Fields) -> None:
    context.put(at, http, "defaultAuthorizer", normalize_name(context.read_text(at)))


_AUTH_RULES: Rules = {
    "Authorizers": _put_authorizers,
    "DefaultAuthorizer": _put_default_authorizer,
    **share(
        (
            *("EnableIamAuthorizer", "AddDefaultAuthorizerToCorsPreflight", "InvokeRole"),
            "AddApiKeyRequiredToCorsPreflight",
        ),
        drop_because("default of fabric"),
    ),
    "ResourcePolicy": lambda context, at, http: apply_rules(
        context, at, {"CustomStatements": put_resource_policy}, http
    ),
    "UsagePlan": inside("usagePlan", USAGE_PLAN_RULES),
    "ApiKeyRequired": carry,
}
_DOMAIN_RULES: Rules = {
    "DomainName": copy_as("name"),
    "CertificateArn": copy_as("certificate"),
    "BasePath": lambda context, at, domain: _put_base_path(context, at, domain),
    "Route53": lambda context, at, domain: apply_rules(
        context, at, {"HostedZoneId": copy_as("zone")}, domain
    ),
    **share(("EndpointConfiguration", "SecurityPolicy"), drop_because("default of fabric")),
    "MutualTlsAuthentication": lose_because("client certificates are not supported"),
}


def _put_base_path(context: Context, at: At, domain: Fields) -> None:
    """Put the first path. A domain has one in fabric, and none is the default."""
    pairs = [(one, text) for one in at.list_items() for text in context.read_texts(one)]
    for one, text in pairs[:1]:
        context.put(one, domain, "basePath", text.strip("/"))
        context.ledger.carry(one)
    for one, text in pairs[1:]:
        reason = f"a domain has one base path in fabric, so `{text}` is missing"
        context.ledger.lose(one, reason, "map the path to the API in a stack of the service")


_API_RULES: Rules = {
    "StageName": change_because("the address of the API contains the stage of fabric", "<stage>"),
    "Auth": lambda context, at, http: apply_rules(context, at, _AUTH_RULES, http),
    "Domain": inside("domain", _DOMAIN_RULES),
    **share(("AccessLogSetting", "AccessLogSettings"), _put_logs),
    "BinaryMediaTypes": _put_types,
    "MinimumCompressionSize": number_as("minimumCompressionSize"),
    "TracingEnabled": flag_as("tracing"),
    "DisableExecuteApiEndpoint": copy_as("disableDefaultEndpoint"),
    "ApiKeySourceType": lower_as("apiKeySource"),
    "EndpointConfiguration": _put_endpoint,
    **share(("MethodSettings", "DefaultRouteSettings"), _put_limits),
    **share(("Name", "Description", "OpenApiVersion", "AlwaysDeploy", "FailOnWarnings"), _NAMED),
    **share(("MergeDefinitions", "Tags", "PropagateTags"), _NAMED),
    **share(
        (
            *("Models", "GatewayResponses", "Variables", "CanarySetting"),
            *("CacheClusterEnabled", "CacheClusterSize", "Mode", "StageVariables"),
            "RouteSettings",
        ),
        lose_because("fabric has no such setting of APIs"),
    ),
}


def _convert_authorizer(context: Context, at: At, fields: Fields) -> None:
    pool, jwt = at.get("UserPoolArn"), at.get("JwtConfiguration")
    if not pool.is_missing:
        fields.put("type", "cognito")
        context.copy(pool, fields, "userPoolArn")
    elif not jwt.is_missing:
        fields.put("type", "jwt")
        apply_rules(context, at, _JWT_RULES, fields)
    else:
        _put_function_authorizer(context, at, fields)


_JWT_RULES: Rules = {
    "JwtConfiguration": lambda context, at, fields: apply_rules(
        context,
        at,
        {
            **share(("issuer", "Issuer"), copy_as("issuer")),
            **share(("audience", "Audience"), texts_as("audience")),
        },
        fields,
    ),
    "IdentitySource": copy_as("identitySource"),
    "AuthorizationScopes": lose_because(
        "scopes belong to triggers", "set `scopes` of each trigger"
    ),
}


def _put_function_authorizer(context: Context, at: At, fields: Fields) -> None:
    kind = at.get("FunctionPayloadType")
    is_rest = at.get("AuthorizerPayloadFormatVersion").is_missing
    is_token = kind.text == "TOKEN" or (kind.is_missing and is_rest)
    fields.put("type", "token" if is_token else "request")
    put_authorizer_function(context.read_text(at.get("FunctionArn")), fields)
    apply_rules(context, at, _FUNCTION_AUTHORIZER_RULES, fields)
    if not is_token and not fields.has("simple"):
        fields.put_flag("simple", value=False)


def _put_identity(context: Context, at: At, fields: Fields) -> None:
    places = {"Header": "header", "Headers": "header", "QueryStrings": "querystring"}
    sources = [
        f"$request.{place}.{text}"
        for key, place in places.items()
        for text in context.read_texts(at.get(key))
    ]
    context.put(at, fields, "identitySource", sources[0] if len(sources) == 1 else sources)
    context.copy_number(at.get("ReauthorizeEvery"), fields, "ttl")
    context.ledger.lose(at.get("ValidationExpression"), "patterns of tokens are not supported")


_FUNCTION_AUTHORIZER_RULES: Rules = {
    "Identity": _put_identity,
    "EnableSimpleResponses": copy_as("simple"),
    **share(("FunctionArn", "FunctionPayloadType", "AuthorizerPayloadFormatVersion"), carry),
    **share(("FunctionInvokeRole", "EnableFunctionDefaultPermissions"), carry),
}
