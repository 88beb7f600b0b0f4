"""Routes to a WSGI application: Bottle finds the route, and every answer has one of our forms."""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import bottle  # type: ignore[import-untyped]

from fabric.daemon.exchange import ApiAnswer, ApiCall, ApiRoute, refusal
from fabric.daemon.parameters import read_parameters
from fabric.daemon.statuses import FAILED, TOO_LARGE, status_of
from fabric.model.problems import FabricError, Problem

MOST_BYTES = 1 << 20
_MOST_PARAMETERS = 64
# Where the door in front of the application leaves the id and the address of the client.
REQUEST_ID, CLIENT = "fabric.request_id", "fabric.client"
_SAFE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_CODES = {404: "request/no-such-path", 405: "request/wrong-method"}
Log = Callable[[str, BaseException], None]
Wsgi = Callable[[dict[str, Any], Callable[..., object]], Iterable[bytes]]


def web_app(routes: Sequence[ApiRoute], log: Log) -> Wsgi:
    """`log` hears of what nobody expected, under the id of the request."""
    app = bottle.Bottle()
    for route in routes:
        app.route(route.path, route.method, _view(route, log))
    app.default_error_handler = _failed
    wsgi: Wsgi = app
    return wsgi


def _view(route: ApiRoute, log: Log) -> Callable[..., bottle.HTTPResponse]:
    def view(**values: str) -> bottle.HTTPResponse:
        environ = bottle.request.environ
        call_id = environ.get(REQUEST_ID) or new_call_id()
        return _response(_answer(route, environ, (call_id, values), log), call_id)

    return view


def _answer(
    route: ApiRoute, environ: Mapping[str, Any], about: tuple[str, Mapping[str, str]], log: Log
) -> ApiAnswer:
    call_id, values = about
    try:
        return route.answer(_call(route, environ, call_id, values))
    except FabricError as error:
        return refusal(status_of(error.problems), error.problems)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
        log(call_id, error)
        message = "the server failed over this request, which is its own fault"
        hint = f"its log says more under {call_id}"
        return refusal(FAILED, (Problem("internal/error", message, hint),))


def _call(
    route: ApiRoute, environ: Mapping[str, Any], call_id: str, values: Mapping[str, str]
) -> ApiCall:
    query = parse_qsl(
        environ.get("QUERY_STRING", ""),
        keep_blank_values=True,
        max_num_fields=_MOST_PARAMETERS,
        errors="replace",
    )
    return ApiCall(
        call_id,
        read_parameters(query, route.parameters),
        values,
        _headers(environ),
        _body(environ) if route.takes_config else b"",
        str(environ.get(CLIENT) or environ.get("REMOTE_ADDR", "")),
    )


def _headers(environ: Mapping[str, Any]) -> dict[str, str]:
    """By their names in small letters."""
    return {
        name.removeprefix("HTTP_").replace("_", "-").lower(): value
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }


def _body(environ: Mapping[str, Any]) -> bytes:
    body: bytes = environ["wsgi.input"].read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise FabricError(too_large())
    return body


def too_large() -> Problem:
    message = f"the body has more than {MOST_BYTES:,} bytes"
    return Problem("request/too-large", message, "a config is text; large files lie beside it")


def new_call_id() -> str:
    return secrets.token_hex(8)


def _response(answer: ApiAnswer, call_id: str) -> bottle.HTTPResponse:
    own = {"X-Request-Id": call_id, "Content-Type": answer.content_type}
    headers = {**_SAFE, **own, **answer.headers}
    body: object = body_of(answer) if answer.chunks is None else answer.chunks
    return bottle.HTTPResponse(body, answer.status, headers)


def body_of(answer: ApiAnswer) -> bytes:
    return answer.text.encode() if answer.text else json.dumps(answer.document).encode() + b"\n"


def _failed(error: bottle.HTTPError) -> bytes:
    """What Bottle refuses by itself: an address, a method, a path that is no text."""
    status = error.status_code
    problem = _problem(status, bottle.request.environ)
    answer = refusal(status, (problem,))
    call_id = bottle.request.environ.get(REQUEST_ID) or new_call_id()
    for name, value in {**_SAFE, "X-Request-Id": call_id}.items():
        bottle.response.set_header(name, value)
    bottle.response.content_type = answer.content_type
    return body_of(answer)


def _problem(status: int, environ: Mapping[str, Any]) -> Problem:
    method = environ.get("REQUEST_METHOD", "")
    if status in _CODES:
        said = f"nothing answers {method} here" if status == 405 else "there is nothing here"  # noqa: PLR2004 - the method
        return Problem(_CODES[status], said, "GET /openapi.json lists what there is")
    if status == TOO_LARGE:
        return too_large()
    if status >= FAILED:
        return Problem("internal/error", "the server failed over this request")
    return Problem("request/malformed", "the request cannot be read")
