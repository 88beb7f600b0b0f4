"""Serve one function in Alibaba Cloud Function Compute: route and schedule events become fabric's
events.

Responses are converted to the platform's format. A caller of the function by name sends an event
instead.

Standard library only: the files beside this one are all of fabric.
"""

import base64
import json
import os
import sys
import time
from collections.abc import Callable
from urllib.parse import quote

from fabric.runtimes.python.calling import call as calling
from fabric.runtimes.python.calling.context import new_id
from fabric.runtimes.python.serving_answers import AnsweringFunction
from fabric.runtimes.python.serving_http import ServedRequest, ServedResponse, message
from fabric.runtimes.python.serving_open import OpenFunction

_EVENT = "__fabric_event"
# An answer of the shim comes before the platform ends the call.
_EARLIER = 0.2
_BODILESS = frozenset((204, 304))
_HEADERS_OF_BYTES = frozenset(("content-length", "transfer-encoding"))
_Document = dict[str, object]


def make_invocation(folder: str, document: _Document) -> Callable[[bytes], object]:
    """Return the function that the runtime calls. A relative path starts at the archive root."""
    os.chdir(folder)
    function = OpenFunction({**document, "folder": folder})
    if function.said.seconds:
        function.said.seconds -= _EARLIER

    def answer_event(event: bytes) -> object:
        given = _parse_event(event)
        taken = _parse_request(given) if function.routes else None
        if taken is None:
            return _call_event(function, given)
        return _build_response(function.answer(taken), taken.method)

    return answer_event


def _parse_event(event: bytes | str) -> object:
    try:
        return json.loads(event or "null")
    except ValueError:
        return event.decode(errors="replace") if isinstance(event, bytes) else event


def _call_event(function: AnsweringFunction, given: object) -> object:
    if not isinstance(given, dict):
        return calling.call(function.handler, given)
    payload = given.get("payload") if given.get("triggerName") else None
    clock = _parse_event(payload) if isinstance(payload, str) else None
    is_timed = isinstance(clock, dict) and _EVENT in clock
    own = clock if is_timed and isinstance(clock, dict) else given
    if _EVENT not in own:
        return calling.call(function.handler, given)
    event = own[_EVENT]
    if is_timed and isinstance(event, dict):
        event = {**event, "id": new_id(), "time": _time(str(given.get("triggerTime") or ""))}
    return {"response": calling.call(function.handler, event)}


def _time(said: str) -> str:
    """Return the due time of a schedule call, or now, without fractions of a second."""
    if said:
        return said.partition(".")[0].removesuffix("Z") + "Z"
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _parse_request(given: object) -> ServedRequest | None:
    """Return the request, or None for another event."""
    context = given.get("requestContext") if isinstance(given, dict) else None
    http = context.get("http") if isinstance(context, dict) else None
    if not isinstance(given, dict) or not isinstance(http, dict) or _EVENT in given:
        return None
    headers = [(str(name).lower(), str(one)) for name, one in _list_pairs(given.get("headers"))]
    text = str(given.get("body") or "")
    body = base64.b64decode(text) if given.get("isBase64Encoded") else text.encode()
    query = "&".join(
        f"{quote(str(name), safe='')}={quote(str(one), safe='')}"
        for name, one in _list_pairs(given.get("queryParameters"))
    )
    target = str(given.get("rawPath") or "/") + (f"?{query}" if query else "")
    method, peer = str(http.get("method") or "GET").upper(), str(http.get("sourceIp") or "")
    return ServedRequest(method, target, headers, body, peer)


def _list_pairs(value: object) -> list[tuple[object, object]]:
    return list(value.items()) if isinstance(value, dict) else []


def _build_response(given: ServedResponse, method: str) -> _Document:
    """Build the response, with each header once, because the platform has no repeated headers."""
    if sum(name == "set-cookie" for name, _ in given.headers) > 1:
        sys.stderr.write("warning: only one cookie of the response is sent at Alibaba Cloud\n")
        given = message(502, "Bad Gateway")
    grouped: dict[str, str] = {}
    for name, value in given.headers:
        if name not in _HEADERS_OF_BYTES:
            grouped[name] = f"{grouped[name]}, {value}" if name in grouped else value
    has_body = given.body and method != "HEAD" and given.status not in _BODILESS
    text, is_base64 = _encode_body(given.body) if has_body else ("", False)
    return {
        "statusCode": given.status,
        "headers": grouped,
        "isBase64Encoded": is_base64,
        "body": text,
    }


def _encode_body(body: bytes) -> tuple[str, bool]:
    try:
        return body.decode(), False
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), True
