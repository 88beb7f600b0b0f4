"""The settings of APIs of the Serverless Framework."""

import re
from collections.abc import Iterator

from fabric.importing.aws_settings import read_cors
from fabric.importing.context import Context
from fabric.importing.credentials import API_KEY_REASON
from fabric.importing.draft import Fields
from fabric.importing.event_target import EventTarget
from fabric.importing.policies import put_resource_policy
from fabric.importing.rules import (
    Rules,
    apply_rules,
    carry,
    copy_as,
    drop_because,
    flag_as,
    inside,
    is_false,
    is_true,
    lose_because,
    lower_as,
    map_as,
    number_as,
    share,
    texts_as,
)
from fabric.importing.serverless.events import put_authorizer_function
from fabric.importing.source import At

_OTHER_API = lose_because("routes of an API of another service are not supported")
_NAMED = drop_because("fabric names the API itself")
# When routes of a REST API join an HTTP API.
PAYLOAD_CHANGES = (
    "events of routes of the REST API have format 2.0, without `httpMethod` and `path`"
)


def list_http_triggers(config: Fields) -> Iterator[Fields]:
    functions = config.get("functions")
    for function in functions if isinstance(functions, list) else ():
        triggers = function.get("triggers") if isinstance(function, Fields) else None
        for one in triggers if isinstance(triggers, list) else ():
            if isinstance(one, Fields) and one.get("type") == "http":
                yield one


def put_cors_of_routes(context: Context, at: At, config: Fields) -> None:
    """Put the CORS of an API on its routes."""
    settings = read_cors(context, at)
    origin = "" if at.is_map else at.text.strip("'")
    if origin.lower() not in ("", "true", "false", "*"):
        settings.put("allowOrigins", [origin], at)
    context.ledger.carry(at)
    for trigger in () if is_false(at) else list_http_triggers(config):
        if not trigger.has("cors"):
            trigger.put("cors", settings.or_true(), at)


def _put_authorizers(context: Context, at: At, http: Fields) -> None:
    """Convert the authorizers of an HTTP API."""
    for one in at.list_entries():
        authorizer = http.child("authorizers", at).child(one.key, one)
        is_request = one.get("type").text == "request"
        authorizer.put("type", "request" if is_request else "jwt")
        apply_rules(context, one, _AUTHORIZER_RULES, authorizer)
        if is_request and not authorizer.has("simple"):
            authorizer.put_flag("simple", value=False)


def _put_function_arn(context: Context, at: At, authorizer: Fields) -> None:
    put_authorizer_function(context.read_text(at), authorizer)
    context.ledger.carry(at)


def _put_sources(context: Context, at: At, authorizer: Fields) -> None:
    texts = context.read_texts(at)
    context.put(at, authorizer, "identitySource", texts[0] if len(texts) == 1 else texts)


_AUTHORIZER_RULES: Rules = {
    "type": carry,
    "issuerUrl": copy_as("issuer"),
    "audience": texts_as("audience"),
    "functionName": copy_as("function"),
    "functionArn": _put_function_arn,
    "resultTtlInSeconds": number_as("ttl"),
    "enableSimpleResponses": copy_as("simple"),
    "identitySource": _put_sources,
    **share(
        ("name", "id", "payloadVersion", "managedExternally"),
        lose_because("fabric has no such setting of authorizers"),
    ),
}
_LIMITS: Rules = {
    **share(("burstLimit", "BurstLimit"), copy_as("burst")),
    **share(("rateLimit", "RateLimit"), copy_as("rate")),
    **share(("limit", "Limit"), copy_as("limit")),
    **share(("period", "Period"), lower_as("period")),
    **share(("offset", "Offset"), number_as("offset")),
}
USAGE_PLAN_RULES: Rules = {
    **share(("quota", "Quota"), inside("quota", _LIMITS)),
    **share(("throttle", "Throttle"), inside("throttle", _LIMITS)),
    "CreateUsagePlan": carry,
    **share(("Description", "UsagePlanName", "Tags"), drop_because("fabric names the plan itself")),
}


def _put_api_keys(context: Context, at: At, http: Fields) -> None:
    """Put the names of API keys. Their values are secrets, and are not copied."""
    names = []
    for one in _list_api_keys(context, at):
        if one.get("enabled").text == "false":
            context.ledger.lose(
                one, "fabric has no disabled API keys", "create the key when needed"
            )
            continue
        name = one.get("name") if one.is_map else one
        names.append(context.read_text(name))
        context.ledger.carry(name)
        context.ledger.lose(one.get("value"), API_KEY_REASON)
        for entry in one.list_entries():
            if entry.key not in ("name", "value"):
                context.ledger.lose(entry, "fabric has no such setting of API keys")
        if one.is_map and name.is_missing:
            reason = "the API key has no name"
            context.ledger.lose(one, reason, "add its name to `http.apiKeys`")
    context.put(at, http, "apiKeys", [one for one in names if one])


def _list_api_keys(context: Context, at: At) -> Iterator[At]:
    """List the keys, also those in lists by the name of their usage plan."""
    plans = [
        entry
        for one in at.list_items()
        for entry in one.list_entries()
        if entry.is_list and one.get("name").is_missing
    ]
    has_others = not all(map(_is_plan, at.list_items()))
    for one in plans if len(plans) > 1 or has_others else ():
        reason = "fabric has one usage plan, which all API keys share"
        context.ledger.remark(one, reason, "http.apiKeys")
    for one in at.list_items():
        if _is_plan(one):
            for plan in one.list_entries():
                yield from plan.list_items()
        else:
            yield one


def _is_plan(one: At) -> bool:
    """Return whether an item lists the keys of a usage plan."""
    return one.is_map and one.get("name").is_missing and one.get("value").is_missing


def _put_usage_plan(context: Context, at: At, http: Fields) -> None:
    """Put the usage plan. Of several plans, fabric cannot choose one."""
    if not at.is_list:
        apply_rules(context, at, USAGE_PLAN_RULES, http.child("usagePlan", at))
        return
    plans = [entry for one in at.list_items() for entry in one.list_entries()]
    if len(plans) == 1:
        apply_rules(context, plans[0], USAGE_PLAN_RULES, http.child("usagePlan", at))
        return
    for one in plans:
        reason = "fabric has one usage plan, so the limits of each plan cannot apply"
        context.ledger.lose(one, reason, "set the limits of all keys in `http.usagePlan`")


_REST_RULES: Rules = {
    "apiKeys": _put_api_keys,
    "usagePlan": _put_usage_plan,
    "resourcePolicy": put_resource_policy,
    "minimumCompressionSize": number_as("minimumCompressionSize"),
    "binaryMediaTypes": texts_as("binaryMediaTypes"),
    "disableDefaultEndpoint": copy_as("disableDefaultEndpoint"),
    "metrics": copy_as("metrics"),
    **share(
        ("restApiId", "restApiRootResourceId", "restApiResources", "websocketApiId"), _OTHER_API
    ),
    **share(("shouldStartNameWithService", "description", "name", "apiKeySourceType"), _NAMED),
}
_HTTP_RULES: Rules = {
    "payload": copy_as("payload"),
    "disableDefaultEndpoint": copy_as("disableDefaultEndpoint"),
    "metrics": copy_as("metrics"),
    "authorizers": _put_authorizers,
    "timeout": copy_as("timeout"),
    "id": _OTHER_API,
    **share(("name", "shouldStartNameWithService", "useProviderTags"), _NAMED),
}
_LOGS: Rules = {
    "format": copy_as("format"),
    **share(
        (
            *("accessLogging", "executionLogging", "level", "fullExecutionData"),
            *("role", "roleManagedExternally"),
        ),
        drop_because("fabric writes access logs"),
    ),
}


def convert_api(context: Context, source: At, config: Fields, target: EventTarget) -> None:
    """Convert the settings of both kinds of APIs."""
    provider, http = source.get("provider"), target.http
    if target.has_rest_api:
        http.put("kind", "rest")
    apply_rules(context, provider.get("httpApi"), _HTTP_RULES, http)
    apply_rules(context, provider.get("apiGateway"), _REST_RULES, http)
    for key in ("apiKeys", "usagePlan", "resourcePolicy"):
        if not provider.get(key).is_missing:
            _REST_RULES[key](context, provider.get(key), http)
    cors = provider.get("httpApi", "cors")
    if not cors.is_missing:
        put_cors_of_routes(context, cors, config)
    _put_endpoint(context, provider, target)
    tracing = provider.get("tracing", "apiGateway")
    if not tracing.is_missing:
        flag_as("tracing")(context, tracing, http)
    for key in ("httpApi", "restApi"):
        _put_logs(context, provider.get("logs", key), http)


def put_gateway_responses(context: Context, resources: list[At], target: EventTarget) -> list[At]:
    """Convert the responses of the REST API of the service, and return the other resources. In a
    stack, the next import of the document would delete them."""
    found = [one for one in resources if _is_own_response(one)] if target.has_rest_api else []
    for one in found:
        properties = one.get("Properties")
        kind = context.read_text(properties.get("ResponseType"))
        response = Fields(one)
        apply_rules(context, properties, _RESPONSE_RULES, response)
        target.http.child("gatewayResponses", one).put(kind, response, one)
        context.ledger.carry(one.get("Type"))
        context.ledger.drop(one.get("DependsOn"), "the response is part of the API")
        context.ledger.lose(one.get("Condition"), "a response has no condition")
    return [one for one in resources if one not in found]


def _is_own_response(at: At) -> bool:
    own = at.get("Properties", "RestApiId", "Ref").text == "ApiGatewayRestApi"
    return own and at.get("Type").text == "AWS::ApiGateway::GatewayResponse"


def _put_response_headers(context: Context, at: At, response: Fields) -> None:
    """Put headers: a text in single quotes, or a value of the request."""
    for one in at.list_entries():
        text, name = context.read_text(one), one.key.removeprefix("gatewayresponse.header.")
        found = _LITERAL.fullmatch(text)
        if name == one.key:
            context.ledger.lose(one, "a response has only parameters of its headers")
        elif found:
            response.child("headers", at).put(name, found[1], one)
        elif text.startswith(("method.request.header.", "method.request.querystring.", "context.")):
            response.child("headers", at).put(name, f"${text.removeprefix('method.')}", one)
        else:
            context.ledger.lose(one, f"the value `{text}` of a header is not supported")
        context.ledger.carry(one)


_LITERAL = re.compile(r"'((?!\$)[^']+)'")
_RESPONSE_RULES: Rules = {
    **share(("RestApiId", "ResponseType"), carry),
    "StatusCode": number_as("statusCode"),
    "ResponseParameters": _put_response_headers,
    "ResponseTemplates": map_as("templates"),
}


def _put_endpoint(context: Context, provider: At, target: EventTarget) -> None:
    endpoint = provider.get("endpointType")
    if not endpoint.is_missing:
        lower_as("endpointType")(context, endpoint, target.http)
    elif target.has_rest_api:
        target.http.put("endpointType", "edge")
        reason = "endpointType is not set (default of the Serverless Framework)"
        context.ledger.change(endpoint, reason, "edge")


def _put_logs(context: Context, at: At, http: Fields) -> None:
    if at.is_map:
        inner = Fields(at)
        apply_rules(context, at, _LOGS, inner)
        http.put("accessLogs", inner.or_true(), at)
        context.ledger.carry(at)
    elif not at.is_missing:
        http.put_flag("accessLogs", at, value=is_true(at))
        context.ledger.carry(at)
