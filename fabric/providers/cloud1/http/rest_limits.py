"""Problems of REST APIs, and of settings that only they have, found without an API call."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabric.model.calls.mapped_events import INTEGRATION
from fabric.model.names import DEFAULT_ROUTE
from fabric.model.problems import Problem
from fabric.providers.cloud1.core.http_settings import (
    CognitoAuthorizer,
    HttpSettings,
    JwtAuthorizer,
    RequestAuthorizer,
    TokenAuthorizer,
    read_authorizer_name,
)
from fabric.providers.cloud1.http.http_limits import AUTHORIZER_KEYS, HTTP_KEYS
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import UNFIT, function_problem, unsupported_setting

_HINT = "set extensions.cloud1-lambda.http.kind: rest"
# By field of the settings, the key in the config.
_ONLY_REST = {
    "endpoint_type": "endpointType",
    "vpc_endpoint_ids": "vpcEndpointIds",
    "resource_policy": "resourcePolicy",
    "api_keys": "apiKeys",
    "api_key_source": "apiKeySource",
    "usage_plan": "usagePlan",
    "binary_media_types": "binaryMediaTypes",
    "minimum_compression_size": "minimumCompressionSize",
    "gateway_responses": "gatewayResponses",
    "metrics": "metrics",
    "tracing": "tracing",
}
_TRIGGER_KEYS = ("apiKey", "request", "timeout", "stream", "integration")
_STAGE = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PART = re.compile(r"[A-Za-z0-9._:~$-]+|\{[A-Za-z0-9._:-]+\+?\}")
_MOST_RESOURCES = 300
_DEFAULT_TIMEOUT = 29
# Of HTTP APIs.
_LONGEST_TIMEOUT = 30
_JSON = "application/json"


def find_rest_problems(
    settings: HttpSettings, address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    """Find problems of the settings and triggers of a service that only REST APIs have."""
    yield from _find_replacement(settings, address)
    yield from _find_authorizer_problems(settings)
    routes = [
        (one.name, number, trigger)
        for one in functions
        for number, trigger in enumerate(map(json.loads, one.triggers))
        if trigger.get("type") == "http"
    ]
    for name, number, trigger in routes:
        for problem in find_rest_trigger_problems(settings, name, trigger):
            yield Unsupported(name, problem, number)
    if settings.is_rest:
        yield from _find_setting_problems(settings, address)
        yield from _find_path_problems(routes)
        return
    if settings.timeout > _LONGEST_TIMEOUT:
        why = f"{settings.timeout:g} s, and HTTP APIs wait for at most {_LONGEST_TIMEOUT} s"
        yield unsupported_setting(HTTP_KEYS, "timeout", why, f"decrease it, or {_HINT}")
    standard = HttpSettings()
    for field, key in _ONLY_REST.items():
        if getattr(settings, field) != getattr(standard, field):
            yield unsupported_setting(HTTP_KEYS, key, "set, which HTTP APIs do not have", _HINT)


def _find_replacement(settings: HttpSettings, address: DeploymentAddress) -> Iterator[Unsupported]:
    """Find a change of the kind, which makes a new address, without a domain or consent."""
    texts = dict(address.previous.kept) if address.previous else {}
    former = "rest" if texts.get("rest_api") else "http" if texts.get("api") else settings.kind
    if former != settings.kind and not (settings.domain or settings.allow_replace):
        message = (
            f"changing `kind` from `{former}` to `{settings.kind}` replaces the API, and its "
            "address changes"
        )
        hint = "add `domain`, or set `allowReplace: true` below `http`"
        yield Unsupported("", Problem(UNFIT, message, hint), keys=(*HTTP_KEYS, "kind"))


def _find_authorizer_problems(settings: HttpSettings) -> Iterator[Unsupported]:
    for name, one in settings.authorizers.items():
        keys = (*AUTHORIZER_KEYS, name)
        if not settings.is_rest and isinstance(one, TokenAuthorizer | CognitoAuthorizer):
            kind = one.__struct_config__.tag
            yield unsupported_setting(keys, "type", f"`{kind}`, which HTTP APIs do not have", _HINT)
        elif settings.is_rest and isinstance(one, JwtAuthorizer):
            why = "`jwt`, which REST APIs do not have"
            yield unsupported_setting(keys, "type", why, "use `cognito` or `request`")
        elif settings.is_rest and isinstance(one, RequestAuthorizer) and one.simple:
            why = "true, and authorizers of REST APIs return policies"
            yield unsupported_setting(keys, "simple", why, "remove it, and return a policy")


def _find_setting_problems(
    settings: HttpSettings, address: DeploymentAddress
) -> Iterator[Unsupported]:
    if settings.payload:
        why = f"{settings.payload}, and REST APIs always send events of the format 1.0"
        yield unsupported_setting(HTTP_KEYS, "payload", why, "remove it")
    twice = next((one for one in settings.api_keys if settings.api_keys.count(one) > 1), "")
    if twice:
        why = f"a list with the name `{twice}` twice"
        yield unsupported_setting(HTTP_KEYS, "apiKeys", why, "remove one of them")
    if not _STAGE.fullmatch(address.stage):
        why = f"rest, and the stage `{address.stage}` is not a name of a stage of REST APIs"
        hint = "use a stage of letters, digits, `_` and `-`"
        yield unsupported_setting(HTTP_KEYS, "kind", why, hint)
    is_private = settings.endpoint_type == "private"
    if settings.vpc_endpoint_ids and not is_private:
        why = "set, and the API is not private"
        yield unsupported_setting(HTTP_KEYS, "vpcEndpointIds", why, "set `endpointType: private`")
    if is_private and not settings.resource_policy:
        why = "private, which requires `resourcePolicy`"
        yield unsupported_setting(HTTP_KEYS, "endpointType", why, "add who can call the API")
    if is_private and settings.domain:
        why = "set, and fabric creates no domains of private APIs"
        yield unsupported_setting(HTTP_KEYS, "domain", why, "remove it")


def find_rest_trigger_problems(
    settings: HttpSettings, function: str, trigger: Mapping[str, Any]
) -> Iterator[Problem]:
    """Find problems of one HTTP trigger."""
    if not settings.is_rest:
        for key in _TRIGGER_KEYS:
            if key in trigger:
                yield function_problem(function, f"sets `{key}`, which HTTP APIs lack", _HINT)
        return
    path = str(trigger.get("path") or "/")
    fault = _find_path_fault(path)
    if fault:
        yield function_problem(function, f"has the path `{path}`, {fault}", "change the path")
    yield from _find_integration_problems(settings, function, trigger)
    yield from _find_key_source_problems(settings, function, trigger)
    if trigger.get("apiKey") and not (settings.api_keys or settings.usage_plan):
        why = "sets `apiKey`, and the API has no keys"
        yield function_problem(function, why, "add names to `http.apiKeys`")
    if not _is_schema(trigger):
        why = "has a `request.schema` that is not a JSON schema"
        yield function_problem(function, why, "use a mapping, or a file that contains JSON")


def _find_integration_problems(
    settings: HttpSettings, function: str, trigger: Mapping[str, Any]
) -> Iterator[Problem]:
    """Find problems of the call of the function: its time, and streams without a proxy."""
    seconds = float(trigger.get("timeout") or settings.timeout)
    is_edge = settings.endpoint_type == "edge"
    if is_edge and seconds > _DEFAULT_TIMEOUT and not trigger.get("stream"):
        why = f"has a timeout of {seconds:g} s, and edge APIs wait for at most 29 s"
        yield function_problem(function, why, "decrease it, or set `endpointType: regional`")
    if trigger.get("stream") and trigger.get("integration") == INTEGRATION:
        why = "sets `stream`, and only a proxy streams responses"
        yield function_problem(function, why, "remove `stream`, or `integration: lambda`")


def _find_key_source_problems(
    settings: HttpSettings, function: str, trigger: Mapping[str, Any]
) -> Iterator[Problem]:
    """Find routes with a key whose authorizer cannot return it. Only functions return keys."""
    if trigger.get("apiKey") and settings.api_key_source == "authorizer":
        known = settings.authorizers.get(read_authorizer_name(settings, trigger))
        if not isinstance(known, RequestAuthorizer | TokenAuthorizer):
            why = "sets `apiKey`, and no authorizer of its route returns the key"
            hint = "set `authorizer` to one of the type `request` or `token`"
            yield function_problem(function, why, hint)


def _find_path_fault(path: str) -> str:
    if path == DEFAULT_ROUTE:
        return "which only HTTP APIs have"
    parts = path.removeprefix("/").split("/") if path != "/" else []
    if not all(_PART.fullmatch(part) for part in parts):
        return "with a segment that REST APIs do not support"
    if any(part.endswith("+}") for part in parts[:-1]):
        return "with a greedy parameter that is not last"
    return ""


def _is_schema(trigger: Mapping[str, Any]) -> bool:
    try:
        schemas = parse_schemas((trigger.get("request") or {}).get("schema"))
    except ValueError:
        return False
    return all(isinstance(one, dict) for one in schemas.values())


def parse_schemas(said: Any) -> dict[str, Any]:
    """Return the schemas by media type. A schema is a mapping, or the JSON text of a file. Raises a
    ValueError for other text."""
    found = _decode(said)
    if not found:
        return {}
    is_by_type = isinstance(found, dict) and all("/" in key for key in found)
    rows = found if is_by_type else {_JSON: found}
    return {media: _strip(_decode(one)) for media, one in rows.items()}


def _decode(said: Any) -> Any:
    return json.loads(said) if isinstance(said, str) else said


def _strip(schema: Any) -> Any:
    """OpenAPI has no `$schema`."""
    if not isinstance(schema, dict):
        return schema
    return {key: value for key, value in schema.items() if key != "$schema"}


def _find_path_problems(
    routes: Sequence[tuple[str, int, Mapping[str, Any]]],
) -> Iterator[Unsupported]:
    """Find routes that cannot be in one tree of resources, and CORS settings of several origins."""
    variables: dict[str, str] = {}
    resources = {""}
    for name, number, trigger in routes:
        path = str(trigger.get("path") or "/").rstrip("/")
        parts = path.split("/")[1:]
        for depth, part in enumerate(parts):
            parent = "/".join(parts[:depth])
            resources.add("/".join(parts[: depth + 1]))
            known = variables.setdefault(parent, part) if part.startswith("{") else part
            if known != part:
                why = f"has `{part}` in the path `{path}`, and another path has `{known}` there"
                hint = "use one name: a resource of a REST API has at most one parameter below it"
                yield Unsupported(name, function_problem(name, why, hint), number)
        if len(resources) > _MOST_RESOURCES:
            why = f"has the path `{path}`; a REST API has at most {_MOST_RESOURCES} resources"
            yield Unsupported(name, function_problem(name, why, "split the service in two"), number)
            return
