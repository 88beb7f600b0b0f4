"""Serve one function as an OpenWhisk action: web requests become events, and answers become web
action results.

A caller with the key can send an event instead.

Standard library only: the files beside this one are all of fabric.
"""

import base64
import os
import re
import time
from collections.abc import Callable

from fabric.runtimes.python.calling import call as calling
from fabric.runtimes.python.calling.context import new_id
from fabric.runtimes.python.serving_answers import AnsweringFunction
from fabric.runtimes.python.serving_http import ServedRequest, ServedResponse
from fabric.runtimes.python.serving_open import OpenFunction

_EVENT = "__fabric_event"
# An answer of the shim comes before the platform ends the call.
_EARLIER = 0.2
# What counts as text there; all else is base64 on the way.
_TEXTS = frozenset(
    (
        *("application/xml", "application/javascript", "application/x-javascript"),
        *("application/x-www-form-urlencoded", "application/xhtml+xml", "application/atom+xml"),
        *("application/rss+xml", "application/soap+xml", "image/svg+xml", "text/plain"),
        *("text/html", "text/css", "text/csv", "text/xml", "text/markdown", "text/asp"),
        *("text/event-stream", "text/richtext", "text/tab-separated-values"),
    )
)
_CHARSET = re.compile(r";\s*charset=", re.IGNORECASE)
_SOME_BYTES = "application/octet-stream"
_BODILESS = frozenset((204, 304))
_Document = dict[str, object]


def make_activation(folder: str, document: _Document) -> Callable[[_Document], _Document]:
    """Return the function that the runtime calls. A relative path starts at the archive root."""
    os.chdir(folder)
    function = OpenFunction({**document, "folder": folder})
    if function.said.seconds:
        function.said.seconds -= _EARLIER

    def answer_parameters(given: _Document) -> _Document:
        taken = _parse_request(given) if function.routes and _EVENT not in given else None
        if taken is None:
            return _call_event(function, given)
        return _build_result(function.answer(taken), taken.method)

    return answer_parameters


def _call_event(function: AnsweringFunction, given: _Document) -> _Document:
    if _EVENT not in given:
        found = calling.call(function.handler, given)
        return found if isinstance(found, dict) else {"response": found}
    event = given[_EVENT]
    if isinstance(event, dict) and event.get("detail-type") == "Scheduled Event":
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        event = {**event, "id": new_id(), "time": now}
    return {"response": calling.call(function.handler, event)}


def _parse_request(given: _Document) -> ServedRequest | None:
    """Parse a request in the format of OpenWhisk, or nested in `http` as some hosts send it."""
    http = given.get("http")
    if isinstance(http, dict) and http.get("method"):
        headers = _parse_headers(http.get("headers"))
        text = str(http.get("body") or "")
        body = base64.b64decode(text) if http.get("isBase64Encoded") else text.encode()
        query = http.get("queryString")
        return _request(http.get("method"), http.get("path"), query, headers, body)
    if not given.get("__ow_method"):
        return None
    headers = _parse_headers(given.get("__ow_headers"))
    body = _decode_body(str(given.get("__ow_body") or ""), dict(headers).get("content-type", ""))
    query = given.get("__ow_query")
    return _request(given["__ow_method"], given.get("__ow_path"), query, headers, body)


def _request(
    method: object, path: object, query: object, headers: list[tuple[str, str]], body: bytes
) -> ServedRequest:
    begin = str(path or "")
    target = (begin if begin.startswith("/") else f"/{begin}") + (f"?{query}" if query else "")
    return ServedRequest(str(method).upper(), target, headers, body, "")


def _parse_headers(value: object) -> list[tuple[str, str]]:
    rows = value.items() if isinstance(value, dict) else ()
    return [(str(name).lower(), str(one)) for name, one in rows]


def _decode_body(text: str, kind: str) -> bytes:
    """Decode a body. Of requests, only `application/json` is base64; of answers, all JSON types can
    be."""
    is_base64 = _strip_parameters(kind) == "application/json" or not _is_text(kind)
    return base64.b64decode(text) if is_base64 else text.encode()


def _strip_parameters(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()


def _is_text(kind: str) -> bool:
    plain = _strip_parameters(kind)
    return plain in _TEXTS or plain.endswith("+json") or _CHARSET.search(kind) is not None


def _build_result(given: ServedResponse, method: str) -> _Document:
    grouped: dict[str, object] = {}
    for name, value in given.headers:
        before = grouped.get(name)
        many = before if isinstance(before, list) else [before]
        grouped[name] = value if before is None else [*many, value]
    has_body = given.body and method != "HEAD" and given.status not in _BODILESS
    if not has_body:
        return {"statusCode": given.status, "headers": grouped, "body": ""}
    text = _encode_body(given.body, str(grouped.get("content-type") or ""))
    if text is None:
        # What is text there has to be UTF-8: other bytes go as bytes.
        grouped["content-type"] = _SOME_BYTES
    body = base64.b64encode(given.body).decode() if text is None else text
    return {"statusCode": given.status, "headers": grouped, "body": body}


def _encode_body(body: bytes, kind: str) -> str | None:
    if (
        _strip_parameters(kind) == "application/json"
        or _strip_parameters(kind).endswith("+json")
        or not _is_text(kind)
    ):
        return base64.b64encode(body).decode()
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
