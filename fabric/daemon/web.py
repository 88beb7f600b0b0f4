"""Routes to a WSGI application: Bottle finds the route, and every answer has one of our forms."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import bottle  # type: ignore[import-untyped]

from fabric.daemon.http_types import ApiAnswer, ApiCall, ApiRoute, Right, make_refusal
from fabric.daemon.parameters import read_parameters
from fabric.daemon.server.answers import encode_body
from fabric.daemon.server.api_server import ServerLimits
from fabric.daemon.server.gate import ADMISSION, Admission, too_large_answer
from fabric.daemon.statuses import NO_CONTENT, NO_METHOD, NOT_FOUND, choose_http_status
from fabric.model.problems import FabricError, Problem
from fabric.system.http.wsgi import Wsgi

_MOST_BYTES = ServerLimits().body_bytes
_MOST_PARAMETERS = 64


def build_web_app(routes: Sequence[ApiRoute]) -> Wsgi:
    """Build the WSGI app. Unexpected errors go to the server, which logs them."""
    app = bottle.Bottle()
    app.config["catchall"] = False
    for route in routes:
        app.route(route.path, route.method, _build_view(route))
    app.default_error_handler = _answer_error
    wsgi: Wsgi = app
    return wsgi


def _build_view(route: ApiRoute) -> Callable[..., bottle.HTTPResponse]:
    def view(**values: str) -> bottle.HTTPResponse:
        return _build_response(_call_route(route, bottle.request.environ, values))

    return view


def _call_route(
    route: ApiRoute, environ: Mapping[str, Any], values: Mapping[str, str]
) -> ApiAnswer:
    try:
        if route.takes_config:
            body = environ["wsgi.input"].read(_MOST_BYTES + 1)
            if len(body) > _MOST_BYTES:
                return too_large_answer(_MOST_BYTES)
        else:
            body = b""
            _refuse_body(route, environ)
        return route.answer(_call(route, environ, values, body))
    except FabricError as error:
        return make_refusal(choose_http_status(error.problems), error.problems)


def _refuse_body(route: ApiRoute, environ: Mapping[str, Any]) -> None:
    """Reject a body where only the daemon's own config applies, because a sent config would be
    ignored."""
    if route.method == "POST" and environ["wsgi.input"].read(1):
        hint = "send the request without a body"
        raise FabricError(
            Problem("request/needless-body", "this path accepts no request body", hint)
        )


def _call(
    route: ApiRoute, environ: Mapping[str, Any], values: Mapping[str, str], body: bytes
) -> ApiCall:
    admission = environ.get(ADMISSION)
    known = admission if isinstance(admission, Admission) else Admission("", right=Right.CHANGE)
    parameters = read_parameters(_query(environ.get("QUERY_STRING", "")), route.docs.parameters)
    right = known.right or Right.OPEN
    return ApiCall(
        id=known.id,
        query=parameters,
        values=values,
        headers=_read_headers(environ),
        body=body,
        client=known.client,
        right=right,
    )


def _query(text: str) -> Sequence[tuple[str, str]]:
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        message = f"the query has more than {_MOST_PARAMETERS} parameters"
        raise FabricError(Problem("usage/bad-param", message)) from error


def _read_headers(environ: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers by lowercase name."""
    return {
        name.removeprefix("HTTP_").replace("_", "-").lower(): str(value)
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }


def _build_response(answer: ApiAnswer) -> bottle.HTTPResponse:
    headers = {"Content-Type": answer.content_type, **answer.headers}
    if answer.status == NO_CONTENT:
        return bottle.HTTPResponse(b"", answer.status, dict(answer.headers))
    body: object = encode_body(answer) if answer.chunks is None else answer.chunks
    return bottle.HTTPResponse(body, answer.status, headers)


def _answer_error(error: bottle.HTTPError) -> bytes:
    """Answer Bottle's own rejections: unknown address or method, or an invalid path."""
    answer = make_refusal(error.status_code, (_status_problem(error.status_code),))
    bottle.response.content_type = answer.content_type
    return encode_body(answer)


def _status_problem(status: int) -> Problem:
    hint = "list the paths with GET /openapi.json"
    if status == NOT_FOUND:
        return Problem("request/no-such-path", "path not found", hint)
    if status == NO_METHOD:
        return Problem("request/wrong-method", "method not allowed for this path", hint)
    return Problem("request/malformed", "malformed request")
