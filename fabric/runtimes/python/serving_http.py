"""Conversion between HTTP requests and function events, and between responses (version 2.0).

Standard library only: it runs in a container without fabric.
"""

import base64
import json
import re
import time
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from fabric.runtimes.python.calling.context import new_id
from fabric.runtimes.python.serving_routes import MatchedRoute

_TEXTS = (
    *("text/", "application/json", "application/xml", "application/javascript"),
    "application/x-www-form-urlencoded",
)
_OURS = frozenset(("content-length", "transfer-encoding", "connection", "keep-alive"))
_LOWEST, _HIGHEST = 200, 599
_BROKEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
Pairs = list[tuple[str, str]]


class UnfitAnswerError(Exception):
    """A response that no host would accept."""


class ServedRequest:
    """An incoming request; header names are lowercase."""

    def __init__(self, method: str, target: str, headers: Pairs, body: bytes, peer: str) -> None:
        self.method = method
        self.path, _, self.query = target.partition("?")
        self.headers = headers
        self.body = body
        self.peer = peer

    def header(self, name: str) -> str:
        return next((value for own, value in self.headers if own == name), "")


class ServedResponse:
    def __init__(self, status: int, headers: Pairs, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


def message(status: int, text: str, *headers: tuple[str, str]) -> ServedResponse:
    body = json.dumps({"message": text}).encode()
    return ServedResponse(status, [("content-type", "application/json"), *headers], body)


def event_of(taken: ServedRequest, route: MatchedRoute) -> dict[str, object]:
    cookies = [
        one.strip()
        for name, value in taken.headers
        if name == "cookie"
        for one in value.split(";")
        if one.strip()
    ]
    query = _join_pairs(parse_qsl(taken.query, keep_blank_values=True))
    return {
        "version": "2.0",
        "routeKey": route.key,
        "rawPath": taken.path,
        "rawQueryString": taken.query,
        **({"cookies": cookies} if cookies else {}),
        "headers": _join_pairs((name, value) for name, value in taken.headers if name != "cookie"),
        **({"queryStringParameters": query} if query else {}),
        **({"pathParameters": route.parameters} if route.parameters else {}),
        "requestContext": _build_context(taken, route.key),
        **_encode_body(taken),
        "httpMethod": taken.method,
        "path": taken.path,
    }


def _build_context(taken: ServedRequest, key: str) -> dict[str, object]:
    host, now = taken.header("host"), time.time()  # noqa: TID251 - the container's own clock
    forwarded = taken.header("x-forwarded-for").partition(",")[0].strip()
    return {
        "accountId": "",
        "apiId": "",
        "domainName": host,
        "domainPrefix": re.split("[.:]", host)[0],
        "http": {
            "method": taken.method,
            "path": taken.path,
            "protocol": "HTTP/1.1",
            "sourceIp": forwarded or taken.peer,
            "userAgent": taken.header("user-agent"),
        },
        "requestId": taken.header("x-request-id") or new_id(),
        "routeKey": key,
        "stage": "$default",
        "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
        "timeEpoch": int(now * 1000),
    }


def _join_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: ",".join(values) for name, values in found.items()}


def _encode_body(taken: ServedRequest) -> dict[str, object]:
    """Encode a body as text if its type and content allow it, otherwise as base64."""
    if not taken.body:
        return {"isBase64Encoded": False}
    kind = taken.header("content-type").lower()
    if not kind or kind.startswith(_TEXTS) or "+json" in kind or "+xml" in kind:
        try:
            return {"body": taken.body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass
    return {"body": base64.b64encode(taken.body).decode(), "isBase64Encoded": True}


def answer_of(response: object) -> ServedResponse:
    """Convert `{statusCode, headers, body, …}`, or any other value, which becomes the JSON of a 200
    response."""
    said: Mapping[str, object] = response if isinstance(response, dict) else {}
    status = said.get("statusCode")
    if status is None and isinstance(said.get("status"), int):
        status = said["status"]
    if status is None:
        body = json.dumps(response, allow_nan=False, ensure_ascii=False).encode()
        return ServedResponse(200, [("content-type", "application/json")], body)
    headers = [
        *_list_headers(said),
        *(("set-cookie", str(one)) for one in _require_list(said.get("cookies"))),
    ]
    if any(_BROKEN.search(part) for pair in headers for part in pair):
        raise UnfitAnswerError("a header of the response contains a line break")
    if not any(name == "content-type" for name, _ in headers):
        headers.insert(0, ("content-type", "text/plain; charset=utf-8"))
    return ServedResponse(_parse_status(status), headers, _decode_body(said))


def _parse_status(status: object) -> int:
    try:
        number = int(str(status))
    except ValueError:
        number = 0
    if not _LOWEST <= number <= _HIGHEST:
        raise UnfitAnswerError(
            f"its statusCode is {status!r:.80}, which is not between 200 and 599"
        )
    return number


def _decode_body(said: Mapping[str, object]) -> bytes:
    body = said.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        raise UnfitAnswerError("its body is not text: convert it to JSON")
    return base64.b64decode(body) if said.get("isBase64Encoded") else body.encode()


def _list_headers(said: Mapping[str, object]) -> Pairs:
    return [
        (str(name).lower(), _format_value(one))
        for part in ("headers", "multiValueHeaders")
        for name, value in _list_members(said.get(part))
        for one in (value if isinstance(value, list) else [value])
        if one is not None and str(name).lower() not in _OURS
    ]


def _list_members(value: object) -> Iterable[tuple[object, object]]:
    return list(value.items()) if isinstance(value, dict) else []


def _format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _require_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
