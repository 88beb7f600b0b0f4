"""Who may call a route of an HTTP API: tokens are checked, and authorizers are called."""

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from msgspec import Struct
from werkzeug.wrappers import Request

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.gateways import Gateway, Hit
from tests.support.servers.strict_cloud1.invocations import Called
from tests.support.servers.strict_cloud1.refusals import RefusalError

# Calls a function on behalf of a service and a source, or refuses.
Caller = Callable[[Region, str, str, str, object], Called]


class Answer(Struct, frozen=True):
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def message(status: int, words: str) -> Answer:
    body = json.dumps({"message": words}).encode()
    return Answer(status, (("content-type", "application/json"),), body)


class Asker(Struct, frozen=True):
    """How an API calls functions, and the public keys of issuers by their ids."""

    call: Caller
    issuers: Mapping[str, Mapping[str, str]]


class Visit(Struct, frozen=True):
    """A request that a route matches."""

    region: Region
    gateway: Gateway
    request: Request
    hit: Hit


def authorized(asker: Asker, visit: Visit, event: Fields) -> Answer | Fields:
    """What the event gets in its context, or the refusal."""
    route = visit.hit.route
    row = visit.gateway.authorizers.get(route.get("AuthorizerId", ""))
    if row is None:
        return {}
    values = [_identity(visit.request, one) for one in row.get("IdentitySource") or []]
    if not all(values):
        return message(401, "Unauthorized")
    if row["AuthorizerType"] == "JWT":
        wanted, scopes = row["JwtConfiguration"], route.get("AuthorizationScopes") or []
        return by_token(asker, wanted, str(values[0]), scopes)
    return _by_function(asker, visit, row, {**event, "identitySource": values})


def _identity(request: Request, source: str) -> str:
    place, _, name = source.removeprefix("$request.").partition(".")
    found = request.headers if place == "header" else request.args
    return found.get(name, "")


def by_token(asker: Asker, wanted: Fields, text: str, scopes: list[str]) -> Answer | Fields:
    """`wanted` are the issuer, and the audiences or None for all."""
    try:
        claims = _claims(text.removeprefix("Bearer "), asker.issuers[wanted["Issuer"]])
    except (ValueError, KeyError, InvalidSignature):
        return message(401, "Unauthorized")
    audience = claims.get("aud") or claims.get("client_id")
    audiences = audience if isinstance(audience, list) else [audience]
    now = time.time()  # noqa: TID251 - as the issuer of a token does
    if (
        claims.get("iss") != wanted["Issuer"]
        or (wanted["Audience"] and not set(audiences) & set(wanted["Audience"]))
        or claims.get("exp", 0) <= now
        or claims.get("nbf", 0) > now
    ):
        return message(401, "Unauthorized")
    given = claims.get("scope", "").split()
    if scopes and not set(scopes) & set(given):
        return message(403, "Forbidden")
    shown = {name: one if isinstance(one, str) else json.dumps(one) for name, one in claims.items()}
    return {"authorizer": {"jwt": {"claims": shown, "scopes": scopes or None}}}


def _claims(token: str, keys: Mapping[str, str]) -> Fields:
    """Those of a token with a signature that is right."""
    head, body, signature = token.split(".")
    header = json.loads(_decoded(head))
    if header["alg"] != "RS256":
        raise ValueError(header["alg"])
    key: Any = serialization.load_pem_public_key(keys[header["kid"]].encode())
    signed = f"{head}.{body}".encode()
    key.verify(_decoded(signature), signed, padding.PKCS1v15(), hashes.SHA256())
    claims: Fields = json.loads(_decoded(body))
    return claims


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _by_function(asker: Asker, visit: Visit, row: Fields, event: Fields) -> Answer | Fields:
    """Simple responses say yes or no; others are policies."""
    api = visit.gateway.shown["ApiId"]
    base = f"arn:aws:execute-api:{visit.region.name}:{visit.region.account.number}:{api}"
    arn = row["AuthorizerUri"].partition("/functions/")[2].removesuffix("/invocations")
    source = f"{base}/authorizers/{row['AuthorizerId']}"
    event = {**event, "type": "REQUEST"}
    event.pop("body", None)
    try:
        called = asker.call(visit.region, arn, "apigateway.amazonaws.com", source, event)
    except RefusalError:
        return message(500, "Internal Server Error")
    result = called.result if isinstance(called.result, dict) and not called.error else {}
    if row.get("EnableSimpleResponses"):
        said = result.get("isAuthorized")
    else:
        rows = (result.get("policyDocument") or {}).get("Statement") or []
        said = bool(rows) and all(one["Effect"] == "Allow" for one in rows)
    if not isinstance(said, bool):
        return message(500, "Internal Server Error")
    if not said:
        return message(403, "Forbidden")
    return {"authorizer": {"lambda": result.get("context")}}


def older_event(event: Fields) -> Fields:
    """The same event, in payload format 1.0."""
    context, query = event["requestContext"], event.get("queryStringParameters") or {}
    http, headers = context["http"], event["headers"]
    found = context.get("authorizer", {})
    lists = {name: text.split(",") for name, text in query.items()}
    return {
        "version": "1.0",
        "resource": event["routeKey"].partition(" ")[2],
        "path": event["rawPath"],
        "httpMethod": http["method"],
        "headers": headers,
        "multiValueHeaders": {name: [text] for name, text in headers.items()},
        "queryStringParameters": {name: one[-1] for name, one in lists.items()} or None,
        "multiValueQueryStringParameters": lists or None,
        "pathParameters": event.get("pathParameters"),
        "stageVariables": None,
        "requestContext": {
            "accountId": context["accountId"],
            "apiId": context["apiId"],
            "authorizer": found.get("jwt") or found.get("lambda"),
            "httpMethod": http["method"],
            "path": event["rawPath"],
            "protocol": http["protocol"],
            "requestId": context["requestId"],
            "stage": context["stage"],
            "identity": {"sourceIp": http["sourceIp"], "userAgent": http["userAgent"]},
        },
        "body": event.get("body"),
        "isBase64Encoded": event["isBase64Encoded"],
    }
