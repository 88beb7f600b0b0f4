"""Convert a request to the event of a function: version 2.0, with the older names in addition."""

import base64
import functools
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

from msgspec import Struct

from fabric.local.access import EventForm, FunctionRule
from fabric.local.routes import Matched
from fabric.model.calls.mapped_events import FORM, INTEGRATION, JSON
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.system.http.requests import ServedRequest

_TEXTS = ("text/", "application/json", "application/xml", "application/javascript")
_FORM = "application/x-www-form-urlencoded"
_NO_ACCOUNT = "000000000000"


class Arrival(Struct, frozen=True):
    """The time, id and source address of a request."""

    at: datetime
    id: str
    address: str = "127.0.0.1"


def convert_request_to_event(
    request: ServedRequest, matched: Matched, arrival: Arrival
) -> JsonObject:
    head = request.head
    path = head.path
    parameters: JsonObject = dict(matched.parameters)
    return {
        "version": "2.0",
        "routeKey": matched.route.key,
        "rawPath": path,
        "rawQueryString": head.query,
        **_omit_empty("cookies", _list_cookies(request)),
        "headers": _join_headers(request),
        **_omit_empty("queryStringParameters", _query(head.query)),
        **_omit_empty("pathParameters", parameters),
        "requestContext": _build_context(request, matched, arrival),
        **_encode_body(request),
        "httpMethod": head.method,
        "path": path,
    }


def convert_to_older_event(event: JsonObject) -> JsonObject:
    """Convert an event to version 1.0, as the HTTP API sends it."""
    context: Any = event["requestContext"]
    http, headers = context["http"], _read_map(event.get("headers"))
    if event.get("cookies"):
        cookies: Any = event["cookies"]
        headers["cookie"] = "; ".join(cookies)
    lists: dict[str, list[str]] = {}
    for name, value in parse_qsl(str(event["rawQueryString"]), keep_blank_values=True):
        lists.setdefault(name, []).append(value)
    said = context.get("authorizer") or {}
    older = {
        "accountId": context["accountId"],
        "apiId": context["apiId"],
        "authorizer": said.get("jwt") or said.get("lambda"),
        "domainName": context["domainName"],
        "domainPrefix": context["domainPrefix"],
        "httpMethod": http["method"],
        "identity": {"sourceIp": http["sourceIp"], "userAgent": http["userAgent"]},
        "path": http["path"],
        "protocol": http["protocol"],
        "requestId": context["requestId"],
        "requestTime": context["time"],
        "requestTimeEpoch": context["timeEpoch"],
        "resourcePath": context["routeKey"].rpartition(" ")[2],
        "stage": context["stage"],
    }
    return {
        "version": "1.0",
        "resource": older["resourcePath"],
        "path": event["rawPath"],
        "httpMethod": http["method"],
        "headers": headers,
        "multiValueHeaders": {name: [text] for name, text in headers.items()},
        "queryStringParameters": {name: one[-1] for name, one in lists.items()} or None,
        "multiValueQueryStringParameters": {name: [*one] for name, one in lists.items()} or None,
        "requestContext": older,
        "pathParameters": event.get("pathParameters"),
        "stageVariables": None,
        "body": event.get("body"),
        "isBase64Encoded": event["isBase64Encoded"],
    }


_NOT_IN_REST = ("body", "isBase64Encoded", "version")


def build_authorizer_event(
    rule: FunctionRule, event: JsonObject, identity: Sequence[str], arn: str
) -> JsonObject:
    """Build the event of an authorizer from that of the route."""
    if rule.form is EventForm.TOKEN:
        return {"type": "TOKEN", "methodArn": arn, "authorizationToken": identity[0]}
    if rule.form is EventForm.REST:
        older = convert_to_older_event(event)
        rest = {name: value for name, value in older.items() if name not in _NOT_IN_REST}
        return {**rest, "type": "REQUEST", "methodArn": arn}
    left_out = ("body", "isBase64Encoded", "httpMethod", "path")
    rest = {name: value for name, value in event.items() if name not in left_out}
    sources: list[Json] = list(identity)
    return {**rest, "type": "REQUEST", "routeArn": arn, "identitySource": sources}


class RefusedBodyError(Exception):
    """A body that a route without a proxy does not accept."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def convert_event(payload: str, event: JsonObject) -> JsonObject:
    """Convert an event to the form of its route."""
    if payload == INTEGRATION:
        return _convert_to_mapped_event(event)
    return convert_to_older_event(event) if payload == "1.0" else event


def _convert_to_mapped_event(event: JsonObject) -> JsonObject:
    """Convert an event to that of `integration: lambda`, as the templates of a REST API do."""
    older = convert_to_older_event(event)
    context: Any = older["requestContext"]
    access = _read_map(context["authorizer"])
    claims = _read_map(access.get("claims"))
    return {
        "body": _parse_mapped_body(older),
        "method": context["httpMethod"],
        "principalId": access.get("principalId", ""),
        "stage": context["stage"],
        "cognitoPoolClaims": {"sub": claims.get("sub", "")},
        "enhancedAuthContext": {name: str(value) for name, value in access.items()},
        "headers": older["headers"],
        "query": older["queryStringParameters"] or {},
        "path": older["pathParameters"] or {},
        "identity": context["identity"],
        "stageVariables": {},
        "requestPath": context["resourcePath"],
    }


def _parse_mapped_body(event: JsonObject) -> Json:
    kind = str(_read_map(event["headers"]).get("content-type") or JSON).partition(";")[0].strip()
    text = str(event["body"] or "")
    if kind.lower() == FORM:
        pairs = (one.split("=") for one in text.split("&"))
        return {unquote_plus(one[0]): unquote_plus("".join(one[1:2])) for one in pairs}
    if kind.lower() != JSON:
        raise RefusedBodyError(415, "Unsupported Media Type")
    try:
        found: Json = json.loads(text or "{}")
    except ValueError as error:
        message = f"invalid JSON body: {error}"
        raise RefusedBodyError(400, message) from error
    return found


def _read_map(value: Json) -> dict[str, Json]:
    return dict(value) if isinstance(value, dict) else {}


def _omit_empty(name: str, value: Json) -> JsonObject:
    return {name: value} if value else {}


def _list_cookies(request: ServedRequest) -> list[Json]:
    found = (value for name, value in request.head.headers if name == "cookie")
    return [one.strip() for value in found for one in value.split(";") if one.strip()]


def _join_headers(request: ServedRequest) -> JsonObject:
    """Join values of one name with commas; cookies have a separate field."""
    return _join_pairs((name, value) for name, value in request.head.headers if name != "cookie")


def _query(text: str) -> JsonObject:
    return _join_pairs(parse_qsl(text, keep_blank_values=True))


def _join_pairs(pairs: Iterable[tuple[str, str]]) -> JsonObject:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: ",".join(values) for name, values in found.items()}


def _build_context(request: ServedRequest, matched: Matched, arrival: Arrival) -> JsonObject:
    head = request.head
    host = head.header("host")
    return {
        "accountId": _NO_ACCOUNT,
        "apiId": "local",
        "domainName": host,
        "domainPrefix": host.partition(".")[0].partition(":")[0],
        "http": {
            "method": head.method,
            "path": head.path,
            "protocol": "HTTP/1.1",
            "sourceIp": arrival.address,
            "userAgent": head.header("user-agent"),
        },
        "requestId": arrival.id,
        "routeKey": matched.route.key,
        "stage": "$default",
        "time": _format_time(arrival.at.replace(microsecond=0)),
        "timeEpoch": int(arrival.at.timestamp() * 1000),
    }


@functools.lru_cache(1)
def _format_time(second: datetime) -> str:
    return second.strftime("%d/%b/%Y:%H:%M:%S +0000")


def _encode_body(request: ServedRequest) -> JsonObject:
    """Encode a body as text if its type and content allow it, otherwise as base64."""
    if not request.body:
        return {"isBase64Encoded": False}
    kind = request.head.header("content-type").lower()
    if not kind or kind.startswith((*_TEXTS, _FORM)) or "+json" in kind or "+xml" in kind:
        try:
            return {"body": request.body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass
    return {"body": base64.b64encode(request.body).decode(), "isBase64Encoded": True}
