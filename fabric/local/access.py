"""Authorizers and limits of routes, as the HTTP API of AWS applies them."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qs

from msgspec import Struct

from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.system.crypto.key_sets import BadTokenError
from fabric.system.http.requests import RequestHead

UNAUTHORIZED, FORBIDDEN, ERROR = 401, 403, 500
_MESSAGES = {
    UNAUTHORIZED: "Unauthorized",
    FORBIDDEN: "Forbidden",
    ERROR: "Internal Server Error",
}


class TokenRule(Struct, frozen=True, kw_only=True):
    """A JWT authorizer, and the scopes of which a token must have one."""

    name: str
    source: str
    issuer: str
    audience: tuple[str, ...]
    scopes: tuple[str, ...] = ()


class EventForm(StrEnum):
    """The event of a function that authorizes requests."""

    HTTP = "http"
    REST = "rest"
    # Of REST APIs: one header only.
    TOKEN = "token"  # noqa: S105 - the name of a form


class FunctionRule(Struct, frozen=True, kw_only=True):
    """A Lambda authorizer: a function of the service."""

    name: str
    function: str
    sources: tuple[str, ...] = ()
    # How long a response is cached, in seconds.
    ttl: int = 0
    is_simple: bool = True
    form: EventForm = EventForm.HTTP
    # A regular expression that the token must match.
    pattern: str = ""


class Limit(Struct, frozen=True):
    """Requests per second, and at the same time."""

    rate: float
    burst: int


class RouteAccess(Struct, frozen=True):
    """The rules of a route. None of them means that everybody can call it."""

    rule: TokenRule | FunctionRule | None = None
    limit: Limit | None = None
    # The name of an authorizer that only AWS can apply.
    unchecked: str = ""
    # The API keys of which a request must have one. Here, the value of a key is its name.
    api_keys: tuple[str, ...] = ()


OPEN = RouteAccess()


class Denied(Struct, frozen=True):
    """A refused request: its status, and the reason for the developer."""

    status: int
    why: str = ""

    @property
    def message(self) -> str:
        return _MESSAGES[self.status]


# The `authorizer` of an event's context, or a refusal.
Verdict: TypeAlias = JsonObject | Denied


class TokenKeys(Protocol):
    def read_claims(self, token: str) -> dict[str, Any]:
        """Return the claims of a token with a valid signature."""


def has_token_form(rule: FunctionRule, token: str) -> bool:
    """Return whether a token matches the pattern of its authorizer. A pattern that is valid only
    for AWS is not applied."""
    try:
        return not rule.pattern or re.fullmatch(rule.pattern, token) is not None
    except re.error:
        return True


def check_api_key(head: RequestHead, names: Sequence[str]) -> Denied | None:
    """Check the API key of a request, whose value only AWS knows."""
    if not names or head.header("x-api-key") in names:
        return None
    known = " or ".join(names)
    return Denied(FORBIDDEN, f"missing or unknown API key: set the header x-api-key to {known}")


def read_identity(head: RequestHead, sources: Sequence[str]) -> tuple[str, ...]:
    """Read the identity sources of a request; an empty text for a missing one."""
    query = parse_qs(head.query, keep_blank_values=True)
    found = []
    for source in sources:
        place, _, name = source.removeprefix("$request.").partition(".")
        values = query.get(name, [""])
        found.append(head.header(name.lower()) if place == "header" else values[-1])
    return tuple(found)


def check_token(head: RequestHead, rule: TokenRule, keys: TokenKeys, now: datetime) -> Verdict:
    """Check a token: signature, issuer, audience, times and scopes."""
    [text] = read_identity(head, (rule.source,))
    if not text:
        return Denied(UNAUTHORIZED, f"the request has no token in {rule.source}")
    try:
        claims = keys.read_claims(text.removeprefix("Bearer ").removeprefix("bearer "))
    except BadTokenError as error:
        return Denied(UNAUTHORIZED, f"the token is not valid: {error}")
    why = _find_fault(claims, rule, now.timestamp())
    if why:
        return Denied(UNAUTHORIZED, f"the token is not valid: {why}")
    given = _list_words(claims.get("scope", claims.get("scp", "")))
    if rule.scopes and not set(rule.scopes) & set(given):
        return Denied(FORBIDDEN, f"the token has none of the scopes {', '.join(rule.scopes)}")
    shown: JsonObject = {
        name: one if isinstance(one, str) else json.dumps(one) for name, one in claims.items()
    }
    scopes: Json = list(rule.scopes) or None
    return {"jwt": {"claims": shown, "scopes": scopes}}


def _find_fault(claims: Mapping[str, Any], rule: TokenRule, now: float) -> str:
    audience = claims.get("aud") or claims.get("client_id")
    audiences = audience if isinstance(audience, list) else [audience]
    if claims.get("iss") != rule.issuer:
        return "it is from another issuer"
    if not {one for one in audiences if isinstance(one, str)} & set(rule.audience):
        return "it is for another audience"
    try:
        if float(claims.get("exp", 0)) <= now:
            return "it has expired"
        if float(claims.get("nbf", 0)) > now or float(claims.get("iat", 0)) > now:
            return "it is not valid yet"
    except (TypeError, ValueError):
        return "its times are not numbers"
    return ""


def _list_words(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else str(value).split()


def read_verdict(rule: FunctionRule, response: Json) -> Verdict:
    """Read the response of a request authorizer: a simple one, or a policy."""
    document = response if isinstance(response, dict) else {}
    said = document.get("isAuthorized") if rule.is_simple else _read_policy(document)
    if not isinstance(said, bool):
        wanted = "`isAuthorized`" if rule.is_simple else "a policy"
        return Denied(ERROR, f"the authorizer `{rule.function}` did not return {wanted}")
    if not said:
        return Denied(FORBIDDEN, f"the authorizer `{rule.function}` refused the request")
    context = document.get("context")
    if rule.form is EventForm.HTTP:
        return {"lambda": context}
    own = context if isinstance(context, dict) else {}
    return {"lambda": {**own, "principalId": document.get("principalId")}}


def _read_policy(document: JsonObject) -> bool | None:
    policy = document.get("policyDocument")
    rows = policy.get("Statement") if isinstance(policy, dict) else None
    if not isinstance(rows, list) or not rows:
        return None
    effects = [row.get("Effect") if isinstance(row, dict) else None for row in rows]
    return all(one == "Allow" for one in effects)


class AccessState:
    """The cached responses of authorizers, and the requests that are left of each limit."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._verdicts: dict[tuple[str, ...], tuple[float, Verdict]] = {}
        self._left: dict[str, tuple[float, float]] = {}

    def is_over(self, route: str, limit: Limit) -> bool:
        """Take one request of a route from its limit. Return whether none was left."""
        now = self._now().timestamp()
        left, then = self._left.get(route, (float(limit.burst), now))
        left = min(float(limit.burst), left + (now - then) * limit.rate)
        is_over = left < 1
        self._left[route] = (left if is_over else left - 1, now)
        return is_over

    def find(self, rule: FunctionRule, identity: tuple[str, ...]) -> Verdict | None:
        ends, verdict = self._verdicts.get((rule.name, *identity), (0.0, None))
        return verdict if self._now().timestamp() < ends else None

    def keep(self, rule: FunctionRule, identity: tuple[str, ...], verdict: Verdict) -> None:
        """Keep a verdict for the `ttl` of the authorizer. Errors are not cached."""
        if rule.ttl and not (isinstance(verdict, Denied) and verdict.status == ERROR):
            self._verdicts[rule.name, *identity] = (
                self._now().timestamp() + rule.ttl,
                verdict,
            )
