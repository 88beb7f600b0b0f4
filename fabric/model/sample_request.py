"""A sample request for a route, as an event of version 2.0."""

import re
from collections.abc import Mapping

from fabric.model.outcomes.json_struct import Json, JsonObject

_PARAMETER = re.compile(r"\{([^{}+]+)\+?\}")
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_AGENT = "fabric"
_HOST = "localhost"


def build_sample_http_event(fields: Mapping[str, object]) -> JsonObject:
    """Build an HTTP event from `route`, or `method` and `path`. Path parameters have the value `1`.

    Fields for older handlers are at the top level.
    """
    method, route_path = _route(fields)
    path = _PARAMETER.sub("1", route_path)
    sent = "GET" if method == "ANY" else method
    body = '{"hello":"world"}' if sent in _WITH_BODY else None
    headers: dict[str, Json] = {"host": _HOST, "user-agent": _AGENT, "accept": "*/*"}
    if body:
        headers |= {"content-type": "application/json", "content-length": str(len(body))}
    return {
        "version": "2.0",
        "routeKey": f"{method} {route_path}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "queryStringParameters": {},
        "pathParameters": dict.fromkeys(_PARAMETER.findall(route_path), "1"),
        "requestContext": _build_request_context(f"{method} {route_path}", sent, path),
        "body": body,
        "isBase64Encoded": False,
        "httpMethod": sent,
        "path": path,
    }


def _route(fields: Mapping[str, object]) -> tuple[str, str]:
    method, _, path = str(fields.get("route") or "").partition(":")
    if not path:
        method, path = str(fields.get("method") or "GET"), str(fields.get("path") or "/hello")
    return method.upper(), path


def _build_request_context(route: str, method: str, path: str) -> JsonObject:
    return {
        "accountId": "000000000000",
        "apiId": "local",
        "domainName": _HOST,
        "domainPrefix": _HOST,
        "http": {
            "method": method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": "127.0.0.1",
            "userAgent": _AGENT,
        },
        "requestId": "00000000-0000-4000-8000-000000000001",
        "routeKey": route,
        "stage": "$default",
        "time": "01/Jan/2026:00:00:00 +0000",
        "timeEpoch": 1_767_225_600_000,
    }
