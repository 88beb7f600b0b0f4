"""The document that describes a server's interface (OpenAPI 3.1), made from its routes."""

import re
from collections.abc import Iterator, Sequence

from fabric.daemon.answer_schemas import REFUSED
from fabric.daemon.http_types import ApiRoute, GoodAnswer, Right
from fabric.daemon.parameters import Parameter
from fabric.model.outcomes.json_struct import Json, JsonObject

_VARIABLE = re.compile(r"<([a-z_]+)>")
# What may become of any request, before it is anybody's.
_OF_ALL = (400, 408, 413, 421, 429, 431, 500, 501, 503, 505)
_WITH_KEY = (401, 403)
_MEANINGS = {
    200: "Success.",
    202: "Accepted: the run continues. `Location` is the URL of the run.",
    204: "Done, without a response body.",
    304: "Not modified.",
    400: "The request or its config is invalid.",
    401: "The API key is missing or wrong.",
    403: "The API key or the origin does not have permission.",
    404: "Not found.",
    405: "Method not allowed.",
    408: "The request timed out.",
    409: "Conflict with the deployed state, a lock or a running run.",
    413: "The request body is too large.",
    421: "Unknown Host.",
    422: "The action failed.",
    429: "Too many requests.",
    431: "The request headers are too large.",
    500: "Server error.",
    501: "Unsupported transfer encoding.",
    502: "A provider or backend failed.",
    503: "The server is busy or stopping.",
    505: "Unsupported HTTP version.",
}


def build_openapi_document(
    routes: Sequence[ApiRoute], version: str, *, has_keys: bool
) -> JsonObject:
    paths: dict[str, dict[str, Json]] = {}
    for route in routes:
        methods = paths.setdefault(_VARIABLE.sub(r"{\1}", route.path), {})
        methods[route.method.lower()] = _build_operation(route, has_keys=has_keys)
    key: JsonObject = {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    schemes: JsonObject = {"key": key} if has_keys else {}
    operations: JsonObject = paths
    about: JsonObject = {"title": "fabric", "version": version, "license": {"name": "Apache-2.0"}}
    return {
        "openapi": "3.1.0",
        "info": about,
        "paths": operations,
        "components": {
            "schemas": {"Refused": REFUSED},
            "securitySchemes": schemes,
        },
    }


def _build_operation(route: ApiRoute, *, has_keys: bool) -> JsonObject:
    needs_key = has_keys and route.right is not Right.OPEN
    body: JsonObject = {"required": False, "content": {"application/yaml": {"schema": _CONFIG}}}
    return {
        "operationId": f"{route.method.lower()}-{route.name}",
        "summary": route.docs.about,
        "parameters": [
            *_list_path_parameters(route.path),
            *map(_build_query_parameter, route.docs.parameters),
        ],
        **({"requestBody": body} if route.takes_config else {}),
        "responses": _build_responses(route, needs_key=needs_key),
        **({"security": [{"key": []}]} if needs_key else {}),
    }


_EXAMPLE = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: hello, entry: src/hello.py, triggers: [{type: http, path: /hello}]}
"""
_CONFIG: JsonObject = {
    "type": "string",
    "description": "The text of a fabric.yml. An empty body selects the config of the server.",
    "examples": [_EXAMPLE],
}


def _list_path_parameters(path: str) -> Iterator[JsonObject]:
    for name in _VARIABLE.findall(path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _build_query_parameter(parameter: Parameter) -> JsonObject:
    one: dict[str, Json] = {"type": "string", "minLength": 1}
    if parameter.choices:
        one["enum"] = list(parameter.choices)
    if parameter.pattern:
        one["pattern"] = parameter.pattern
    schema: JsonObject = {"type": "array", "items": one} if parameter.many else one
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        **({"example": parameter.example} if parameter.example else {}),
        "schema": schema,
    }


def _build_responses(route: ApiRoute, *, needs_key: bool) -> JsonObject:
    refused = {*_OF_ALL, *route.docs.statuses, *(_WITH_KEY if needs_key else (403,))}
    reference: JsonObject = {"$ref": "#/components/schemas/Refused"}
    bad = {str(one): _build_response(one, reference, "application/json") for one in sorted(refused)}
    return {**bad, **_build_good_responses(route.docs.good)}


def _build_good_responses(answers: Sequence[GoodAnswer]) -> JsonObject:
    """Build one response per status, with all its content types."""
    contents: dict[int, dict[str, Json]] = {}
    for one in answers:
        known = contents.setdefault(one.status, {})
        if one.schema:
            known[one.content] = {"schema": one.schema}
    return {
        str(status): {"description": _MEANINGS[status], **({"content": known} if known else {})}
        for status, known in contents.items()
    }


def _build_response(status: int, schema: JsonObject, content: str) -> JsonObject:
    return {"description": _MEANINGS[status], "content": {content: {"schema": schema}}}
