"""Requests to an HTTP API's own address: routed, allowed, and answered by the code itself."""

import base64
import binascii
import json
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

from werkzeug.wrappers import Request

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.cross_origin import allowed_origin, preflight
from tests.support.servers.strict_cloud1.gateway_access import (
    Answer,
    Asker,
    Caller,
    Visit,
    authorized,
    message,
    older_event,
)
from tests.support.servers.strict_cloud1.gateway_calls import function_of
from tests.support.servers.strict_cloud1.gateways import Gateway
from tests.support.servers.strict_cloud1.refusals import RefusalError

Headers = list[tuple[str, str]]
_SECONDS = 30


def answered(found: tuple[Region, Gateway], request: Request, path: str, asker: Asker) -> Answer:
    region, gateway = found
    cors = gateway.shown.get("CorsConfiguration")
    if cors and request.method == "OPTIONS" and "Origin" in request.headers:
        return Answer(204, tuple(preflight(cors, request.headers["Origin"])), b"")
    staged = gateway.stage_of(path)
    hit = staged and gateway.hit(request.method, staged[1])
    if not staged or not hit or not hit.route.get("Target"):
        return message(404, "Not Found")
    if _is_over_limit(gateway.stages[staged[0]], hit.route["RouteKey"]):
        return message(429, "Too Many Requests")
    visit = Visit(region, gateway, request, hit)
    access = authorized(asker, visit, _event(visit, (staged[0], path)))
    if isinstance(access, Answer):
        return access
    integration = gateway.integrations[hit.route["Target"].removeprefix("integrations/")]
    if integration["IntegrationType"] == "HTTP_PROXY":
        made = _proxied(integration, request, staged[1], hit.variables)
    else:
        source = _source(region, gateway, staged[0], hit.route["RouteKey"])
        event = _event(visit, (staged[0], path))
        event["requestContext"] |= access
        if integration["PayloadFormatVersion"] == "1.0":
            event = older_event(event)
        made = _from_function(asker.call, region, function_of(integration), source, event)
    return _with_origin(made, cors, request) if cors else made


def _with_origin(made: Answer, cors: Fields, request: Request) -> Answer:
    """The API's own words about origins take the place of the function's."""
    kept = [one for one in made.headers if not one[0].startswith("access-control-")]
    own = allowed_origin(cors, request.headers.get("Origin", ""))
    return Answer(made.status, (*kept, *own), made.body)


def _source(region: Region, gateway: Gateway, stage: str, key: str) -> str:
    verb, _, template = key.partition(" ")
    method = "*" if verb == "ANY" else verb
    base = f"arn:aws:execute-api:{region.name}:{region.account.number}"
    return f"{base}:{gateway.shown['ApiId']}/{stage}/{method}{template}"


def _is_over_limit(stage: Fields, key: str) -> bool:
    """Only a limit of nothing is kept here: it needs no clock."""
    own = stage.get("RouteSettings", {}).get(key) or stage.get("DefaultRouteSettings", {})
    return bool(own.get("ThrottlingBurstLimit") == 0)


def _event(visit: Visit, place: tuple[str, str]) -> Fields:
    """Of payload format 2.0."""
    region, gateway, request, hit = visit.region, visit.gateway, visit.request, visit.hit
    (stage, path), body = place, request.get_data()
    text, is_base64 = _as_text(body)
    cookies = request.headers.get("Cookie", "").split(";")
    optional: Fields = {
        "cookies": [one.strip() for one in cookies if one.strip()],
        "queryStringParameters": {key: ",".join(request.args.getlist(key)) for key in request.args},
        "pathParameters": hit.variables,
        "body": text,
    }
    return {
        "version": "2.0",
        "routeKey": hit.route["RouteKey"],
        "rawPath": path,
        "rawQueryString": request.query_string.decode(),
        "headers": _headers(request),
        **{key: value for key, value in optional.items() if value},
        "requestContext": _context(gateway, request, stage, path)
        | {"accountId": region.account.number, "routeKey": hit.route["RouteKey"]},
        "isBase64Encoded": is_base64,
    }


def _as_text(body: bytes) -> tuple[str, bool]:
    try:
        return body.decode(), False
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), True


def _headers(request: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers if name.lower() != "cookie"}


def _context(gateway: Gateway, request: Request, stage: str, path: str) -> Fields:
    return {
        "apiId": gateway.shown["ApiId"],
        "domainName": request.host,
        "domainPrefix": gateway.shown["ApiId"],
        "requestId": uuid.uuid4().hex,
        "stage": stage,
        "timeEpoch": time.time_ns() // 1_000_000,
        "http": {
            "method": request.method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": request.remote_addr or "",
            "userAgent": request.headers.get("User-Agent", ""),
        },
    }


def _from_function(call: Caller, region: Region, arn: str, source: str, event: Fields) -> Answer:
    try:
        called = call(region, arn, "apigateway.amazonaws.com", source, event)
    except RefusalError as refusal:
        if refusal.status == 429:
            return message(503, "Service Unavailable")
        return message(500, "Internal Server Error")
    if called.error:
        return message(500, "Internal Server Error")
    return _shaped(called.result)


def _shaped(result: Any) -> Answer:
    """What a function returns; without a status the whole of it is the body."""
    if not isinstance(result, dict) or "statusCode" not in result:
        body = json.dumps(result).encode()
        return Answer(200, (("content-type", "application/json"),), body)
    try:
        status, body = int(result["statusCode"]), _content(result)
    except (TypeError, ValueError, AttributeError):
        return message(500, "Internal Server Error")
    given = {key.lower(): str(one) for key, one in (result.get("headers") or {}).items()}
    headers = {"content-type": "text/plain; charset=utf-8", **given}
    cookies = [("set-cookie", one) for one in result.get("cookies") or ()]
    return Answer(status, (*headers.items(), *cookies), body)


def _content(result: Fields) -> bytes:
    text: str = result.get("body") or ""
    if not result.get("isBase64Encoded"):
        return text.encode()
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error


def _proxied(integration: Fields, request: Request, path: str, variables: dict[str, str]) -> Answer:
    address = _address(integration, request, path, variables)
    method = integration["IntegrationMethod"]
    asked = urllib.request.Request(  # noqa: S310 - what a test set up
        address,
        request.get_data() or None,
        {name: one for name, one in request.headers if name not in {"Host", "Connection"}},
        method=request.method if method == "ANY" else method,
    )
    try:
        with urllib.request.urlopen(asked, timeout=_SECONDS) as answer:  # noqa: S310
            return _passed_on(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return _passed_on(error.code, error.headers, error.read())
    except OSError:
        return message(503, "Service Unavailable")


def _passed_on(status: int, headers: Any, body: bytes) -> Answer:
    kept = [(name.lower(), one) for name, one in headers.items() if name.lower() not in _OF_A_HOP]
    return Answer(status, tuple(kept), body)


_OF_A_HOP = frozenset({"connection", "transfer-encoding", "content-length", "date", "server"})


def _address(integration: Fields, request: Request, path: str, variables: dict[str, str]) -> str:
    address: str = integration["IntegrationUri"]
    for name, value in variables.items():
        address = address.replace(f"{{{name}}}", value)
    overwritten = integration.get("RequestParameters", {}).get("overwrite:path")
    if overwritten:
        scheme, _, rest = address.partition("://")
        host = rest.partition("/")[0]
        address = f"{scheme}://{host}{path if overwritten == '$request.path' else overwritten}"
    query = request.query_string.decode()
    return f"{address}?{query}" if query else address
