"""The OpenAPI document of a REST API on AWS: methods, authorizers, validation and CORS. No
effects."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from fabric.model.calls.cors import Cors
from fabric.model.hashing import hash_fields
from fabric.providers.cloud1.core.http_settings import (
    BY_KEY,
    CognitoAuthorizer,
    GatewayResponse,
    RequestAuthorizer,
    TokenAuthorizer,
    build_invocation_uri,
)
from fabric.providers.cloud1.http.gateway_plan import RouteAccess, merge_cors
from fabric.providers.cloud1.http.rest_mapping import build_mapped_responses, build_mapping

Json: TypeAlias = dict[str, Any]
OPTIONS = "OPTIONS"
_SIGNED, _API_KEY = "sigv4", "api_key"
_AWS = "x-amazon-apigateway-"
_DEFAULT_MILLISECONDS = 29_000
_MODEL_NAME = 16
_REFERENCES = ("$request.", "$context.")
_PLACES = {"query": "query", "header": "header"}
_HEADER_NAMES = {
    "Access-Control-Allow-Methods": "AllowMethods",
    "Access-Control-Allow-Headers": "AllowHeaders",
    "Access-Control-Max-Age": "MaxAge",
}


class RequestRules(Struct, frozen=True):
    """Rules for requests: schemas of the body by media type, and places of parameters by name."""

    schemas: Mapping[str, Json] = {}
    parameters: Mapping[str, str] = {}


class RestMethod(Struct, frozen=True, kw_only=True):
    """A route of a REST API. `number` is that of its trigger."""

    method: str
    path: str
    function: str
    alias: str
    number: int = 0
    access: RouteAccess = RouteAccess()
    needs_key: bool = False
    rules: RequestRules = RequestRules()
    milliseconds: int = 0
    is_streamed: bool = False
    # Called with an event of the parts of the request, without a proxy.
    is_mapped: bool = False

    @property
    def key(self) -> str:
        return f"{self.method} {self.path}"


class RestAttributes(Struct, frozen=True, kw_only=True):
    """The settings of the API itself. `policy` is JSON."""

    endpoint_type: str = "REGIONAL"
    vpc_endpoints: tuple[str, ...] = ()
    binary_types: tuple[str, ...] = ()
    compression_size: int | None = None
    policy: str = ""
    is_endpoint_disabled: bool = False
    # Empty is the default.
    key_source: str = ""


class DocumentParts(Struct, frozen=True, kw_only=True):
    """The parts of a document. `schemes` are authorizers by their name at AWS."""

    name: str
    methods: Sequence[RestMethod]
    # Those of all triggers of a path.
    cors: Mapping[str, Sequence[Cors]] = {}
    schemes: Mapping[str, Json] = {}
    attributes: RestAttributes = RestAttributes()
    # By the type of AWS.
    responses: Mapping[str, GatewayResponse] = {}


def build_document(parts: DocumentParts) -> Json:
    """Build the document. It contains everything that a deployment of the API freezes."""
    models = {
        _name_model(schema): schema
        for one in parts.methods
        for schema in one.rules.schemas.values()
    }
    components = {"schemas": models, "securitySchemes": _build_schemes(parts)}
    document = {
        "openapi": "3.0.1",
        "info": {"title": parts.name, "version": "1"},
        "paths": _build_paths(parts),
        "components": {name: rows for name, rows in components.items() if rows},
        f"{_AWS}request-validators": _build_validators(parts.methods),
        f"{_AWS}gateway-responses": _build_gateway_responses(parts),
        **_build_attributes(parts.attributes),
    }
    return {name: value for name, value in document.items() if value}


def _build_attributes(attributes: RestAttributes) -> Json:
    found: Json = {}
    if attributes.binary_types:
        found[f"{_AWS}binary-media-types"] = list(attributes.binary_types)
    if attributes.compression_size is not None:
        found[f"{_AWS}minimum-compression-size"] = attributes.compression_size
    if attributes.key_source:
        found[f"{_AWS}api-key-source"] = attributes.key_source
    if attributes.policy:
        found[f"{_AWS}policy"] = json.loads(attributes.policy)
    if attributes.is_endpoint_disabled:
        endpoint = {"disableExecuteApiEndpoint": True}
        found["servers"] = [{"url": "/", f"{_AWS}endpoint-configuration": endpoint}]
    return found


def _build_paths(parts: DocumentParts) -> Json:
    paths: Json = {}
    for one in parts.methods:
        name = f"{_AWS}any-method" if one.method == "ANY" else one.method.lower()
        paths.setdefault(one.path, {})[name] = _build_operation(one, parts.cors)
    for path, cors in parts.cors.items():
        paths[path].setdefault(OPTIONS.lower(), _build_preflight(path, cors))
    return paths


def _build_operation(one: RestMethod, all_cors: Mapping[str, Sequence[Cors]]) -> Json:
    responses: Json = {"200": {"description": "The response of the function"}}
    integration = _build_integration(one)
    if one.is_mapped:
        origin = (
            _list_origin_headers(merge_cors(all_cors[one.path])) if one.path in all_cors else {}
        )
        responses = build_mapped_responses(origin)
        integration |= build_mapping(origin)
    operation: Json = {
        "parameters": [*_build_path_parameters(one.path), *_build_parameters(one.rules)],
        "requestBody": _build_body(one.rules),
        "responses": responses,
        "security": _build_security(one),
        f"{_AWS}request-validator": name_validator(one.rules),
        f"{_AWS}integration": integration,
    }
    if one.access.authorization == BY_KEY:
        operation[f"{_AWS}auth"] = {"type": BY_KEY}
    return {name: value for name, value in operation.items() if value}


def _build_integration(one: RestMethod) -> Json:
    uri = build_invocation_uri(one.alias)
    if one.is_streamed:
        uri = uri.replace("2015-03-31", "2021-11-15")
        uri = f"{uri.removesuffix('invocations')}response-streaming-invocations"
    return {
        "type": "aws_proxy",
        "httpMethod": "POST",
        "uri": uri,
        "passthroughBehavior": "when_no_match",
        "timeoutInMillis": one.milliseconds or _DEFAULT_MILLISECONDS,
        **({"responseTransferMode": "STREAM"} if one.is_streamed else {}),
    }


def list_path_parameters(path: str) -> list[str]:
    parts = (part for part in path.split("/") if part.startswith("{"))
    return [part.strip("{}").removesuffix("+") for part in parts]


def _build_path_parameters(path: str) -> Iterable[Json]:
    return (
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in list_path_parameters(path)
    )


def _build_parameters(rules: RequestRules) -> Iterable[Json]:
    return (
        {"name": name, "in": _PLACES[place], "required": True, "schema": {"type": "string"}}
        for name, place in sorted(rules.parameters.items())
    )


def _build_body(rules: RequestRules) -> Json:
    if not rules.schemas:
        return {}
    content = {
        media: {"schema": {"$ref": f"#/components/schemas/{_name_model(schema)}"}}
        for media, schema in sorted(rules.schemas.items())
    }
    return {"required": True, "content": content}


def _name_model(schema: Json) -> str:
    """Return a name of letters and digits: API Gateway accepts no others."""
    text = json.dumps(schema, sort_keys=True)
    return f"Body{hash_fields((text,))[:_MODEL_NAME]}"


def name_validator(rules: RequestRules) -> str:
    checked = [
        *(("body",) if rules.schemas else ()),
        *(("parameters",) if rules.parameters else ()),
    ]
    return "-and-".join(checked)


def _build_validators(methods: Iterable[RestMethod]) -> Json:
    names = {name_validator(one.rules) for one in methods} - {""}
    return {
        name: {
            "validateRequestBody": "body" in name,
            "validateRequestParameters": "parameters" in name,
        }
        for name in sorted(names)
    }


def _build_security(one: RestMethod) -> list[Json]:
    needed: Json = {_API_KEY: []} if one.needs_key else {}
    if one.access.authorization == BY_KEY:
        needed[_SIGNED] = []
    elif one.access.authorizer:
        needed[one.access.authorizer] = list(one.access.scopes)
    return [needed] if needed else []


def _build_schemes(parts: DocumentParts) -> Json:
    schemes: Json = dict(parts.schemes)
    if any(one.access.authorization == BY_KEY for one in parts.methods):
        schemes[_SIGNED] = {**_in_header("Authorization"), f"{_AWS}authtype": "awsSigv4"}
    if any(one.needs_key for one in parts.methods):
        schemes[_API_KEY] = _in_header("x-api-key")
    return schemes


def _in_header(name: str) -> Json:
    return {"type": "apiKey", "name": name, "in": "header"}


def build_scheme(
    authorizer: RequestAuthorizer | TokenAuthorizer | CognitoAuthorizer, function_arn: str
) -> Json:
    """Build the security scheme of an authorizer. `function_arn` is what it calls."""
    given = authorizer.identity_source
    listed = [given] if isinstance(given, str) else list(given)
    if not listed and authorizer.ttl:
        listed = ["$request.header.Authorization"]  # a cache needs a key
    sources = [_convert_source(one) for one in listed]
    settings: Json = {"authorizerResultTtlInSeconds": authorizer.ttl}
    if sources:
        settings["identitySource"] = ", ".join(sources)
    kind = "custom"
    match authorizer:
        case CognitoAuthorizer(user_pool_arn=pools):
            kind = "cognito_user_pools"
            settings["providerARNs"] = [pools] if isinstance(pools, str) else list(pools)
            settings["type"] = kind
        case TokenAuthorizer(pattern=pattern):
            settings |= {"type": "token", "authorizerUri": build_invocation_uri(function_arn)}
            if pattern:
                settings["identityValidationExpression"] = pattern
        case RequestAuthorizer():
            settings |= {"type": "request", "authorizerUri": build_invocation_uri(function_arn)}
    header = "Unused" if isinstance(authorizer, RequestAuthorizer) else sources[0]
    return {
        **_in_header(header.rpartition(".")[2]),
        f"{_AWS}authtype": kind,
        f"{_AWS}authorizer": settings,
    }


def _convert_source(source: str) -> str:
    """Convert an identity source of HTTP APIs to the form of REST APIs."""
    if source.startswith("$request."):
        return source.replace("$request.", "method.request.", 1)
    return source.removeprefix("$")


def _build_preflight(path: str, cors: Sequence[Cors]) -> Json:
    """Build the method that answers browsers without a function."""
    headers = {name: value for name, value in _list_cors_headers(cors).items() if value}
    choice = _build_origin_choice(frozenset(origin for one in cors for origin in one.origins))
    if choice:
        headers["Vary"] = "Origin"
    integration = {
        "type": "mock",
        "requestTemplates": {"application/json": '{"statusCode": 204}'},
        "passthroughBehavior": "when_no_match",
        # Otherwise a binary media type of `*/*` would reach the template.
        "contentHandling": "CONVERT_TO_TEXT",
        "responses": {
            "default": {
                "statusCode": "204",
                "responseParameters": {
                    f"method.response.header.{name}": f"'{value}'"
                    for name, value in headers.items()
                },
                **({"responseTemplates": {"application/json": choice}} if choice else {}),
            }
        },
    }
    parameters = list(_build_path_parameters(path))
    shown = {name: {"schema": {"type": "string"}} for name in headers}
    return {
        **({"parameters": parameters} if parameters else {}),
        "responses": {"204": {"description": "CORS", "headers": shown}},
        f"{_AWS}integration": integration,
    }


def _build_origin_choice(origins: frozenset[str]) -> str:
    """Build the template that returns the origin of the request if it is one of several. Header
    names are lowercase in HTTP/2."""
    if "*" in origins or len(origins) == 1:
        return ""
    is_allowed = " || ".join(f"$origin == '{one}'" for one in sorted(origins))
    header = "$context.responseOverride.header.Access-Control-Allow-Origin"
    return (
        '#set($origin = $input.params("Origin"))'
        '#if($origin == "")#set($origin = $input.params("origin"))#end'
        f"#if({is_allowed})#set({header} = $origin)#end"
    )


def _list_cors_headers(all_cors: Sequence[Cors]) -> dict[str, str]:
    merged = merge_cors(all_cors)
    found = _list_origin_headers(merged)
    for name, key in _HEADER_NAMES.items():
        value = merged.get(key)
        found[name] = ",".join(value) if isinstance(value, list) else str(value or "")
    return found


def _list_origin_headers(merged: Mapping[str, Any]) -> dict[str, str]:
    origins = merged["AllowOrigins"]
    found = {"Access-Control-Allow-Origin": "*" if "*" in origins else origins[0]}
    if merged["AllowCredentials"]:
        found["Access-Control-Allow-Credentials"] = "true"
    return found


def _build_gateway_responses(parts: DocumentParts) -> Json:
    """Build the responses of the API itself. With CORS, browsers can read its errors."""
    found: Json = {name: _build_response(one) for name, one in parts.responses.items()}
    if parts.cors:
        all_cors = [one for each in parts.cors.values() for one in each]
        origin = _list_origin_headers(merge_cors(all_cors))
        for name in ("DEFAULT_4XX", "DEFAULT_5XX"):
            row = found.setdefault(name, {})
            row["responseParameters"] = {
                **_format_response_headers(origin),
                **row.get("responseParameters", {}),
            }
    return found


def _build_response(said: GatewayResponse) -> Json:
    row = {
        "statusCode": str(said.status_code or ""),
        "responseParameters": _format_response_headers(said.headers),
        "responseTemplates": said.templates,
    }
    return {name: value for name, value in row.items() if value}


def _format_response_headers(headers: Mapping[str, str]) -> Json:
    return {f"gatewayresponse.header.{name}": _format_value(one) for name, one in headers.items()}


def _format_value(text: str) -> str:
    """Format a value of a header: a literal text, or a part of the request or its context."""
    if text.startswith(_REFERENCES):
        return text.replace("$request.", "method.request.", 1).removeprefix("$")
    return f"'{text}'"
