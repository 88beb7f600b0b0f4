"""Routes about the server itself: health, readiness, metrics and API description."""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from fabric.daemon import answer_schemas as schemas
from fabric.daemon.answer_schemas import REFUSED
from fabric.daemon.http_types import ApiAnswer, ApiCall, ApiRoute, GoodAnswer, Right, RouteDocs
from fabric.daemon.metrics import CONTENT_TYPE, Metrics
from fabric.daemon.parameters import Parameter
from fabric.daemon.readiness import Readiness
from fabric.daemon.statuses import NOT_NOW, OK
from fabric.manifest import VERSION
from fabric.model.checks import Check
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


def _build_openapi_document(
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


class ServerItself(Struct, frozen=True):
    """The server."""

    # Its name.
    kind: str
    readiness: Readiness
    metrics: Metrics
    # Set before its end.
    is_draining: Callable[[], bool]
    is_insecure: bool
    has_keys: bool


def build_system_routes(server: ServerItself, others: Sequence[ApiRoute]) -> tuple[ApiRoute, ...]:
    def health(_: ApiCall) -> ApiAnswer:
        return ApiAnswer(OK, {"ok": True})

    def version(_: ApiCall) -> ApiAnswer:
        return ApiAnswer(OK, {"ok": True, "version": VERSION, "server": server.kind})

    def ready(_: ApiCall) -> ApiAnswer:
        return _check_ready(server)

    def metrics(_: ApiCall) -> ApiAnswer:
        return ApiAnswer(OK, text=server.metrics.text(), content_type=CONTENT_TYPE)

    def describe_api(_: ApiCall) -> ApiAnswer:
        return ApiAnswer(OK, _build_openapi_document(routes, VERSION, has_keys=server.has_keys))

    own = (
        ApiRoute(
            method="GET",
            path="/healthz",
            name="healthz",
            right=Right.OPEN,
            answer=health,
            is_free=True,
            docs=RouteDocs(
                about="Check that the server is running.", good=(GoodAnswer(schemas.HEALTHY),)
            ),
        ),
        ApiRoute(
            method="GET",
            path="/readyz",
            name="readyz",
            right=Right.LOOK,
            answer=ready,
            docs=RouteDocs(
                about="Check that the server is ready.",
                good=(GoodAnswer(schemas.READY), GoodAnswer(schemas.READY, NOT_NOW)),
            ),
        ),
        ApiRoute(
            method="GET",
            path="/version",
            name="version",
            right=Right.LOOK,
            answer=version,
            docs=RouteDocs(
                about="Show the version of the server.", good=(GoodAnswer(schemas.VERSION),)
            ),
        ),
        ApiRoute(
            method="GET",
            path="/metrics",
            name="metrics",
            right=Right.LOOK,
            answer=metrics,
            docs=RouteDocs(
                about="Metrics in the Prometheus format.",
                good=(GoodAnswer(schemas.TEXT, content="text/plain"),),
            ),
        ),
        ApiRoute(
            method="GET",
            path="/openapi.json",
            name="openapi",
            right=Right.LOOK,
            answer=describe_api,
            docs=RouteDocs(about="This OpenAPI document.", good=(GoodAnswer(schemas.ANYTHING),)),
        ),
    )
    routes = (*others, *own)
    return own


def _check_ready(server: ServerItself) -> ApiAnswer:
    checks = server.readiness.checks()
    is_draining = server.is_draining()
    is_ready = not is_draining and not any(one.is_error for one in checks)
    document: dict[str, Json] = {
        "ok": is_ready,
        "insecure": server.is_insecure,
        "draining": is_draining,
        "checks": {one.name: _check(one) for one in checks},
    }
    return ApiAnswer(OK if is_ready else NOT_NOW, document)


def _check(check: Check) -> Json:
    said: dict[str, Json] = {"ok": check.ok, "message": check.message}
    return {**said, "hint": check.fix} if check.fix else said
