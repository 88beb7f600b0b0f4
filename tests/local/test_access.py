"""Tokens, authorizer responses and limits of local routes, with values only."""

import base64
import datetime
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from fabric.local.access import (
    AccessState,
    Denied,
    EventForm,
    FunctionRule,
    Limit,
    TokenRule,
    Verdict,
    check_token,
    has_token_form,
    read_identity,
    read_verdict,
)
from fabric.model.problems import FabricError
from fabric.system.crypto.key_sets import KeySet, read_key_set
from fabric.system.http.requests import RequestHead

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SECONDS = NOW.timestamp()
KEY = rsa.generate_private_key(65537, 2048)
RULE = TokenRule(
    name="users",
    source="$request.header.Authorization",
    issuer="https://login.example",
    audience=("shop",),
    scopes=("write",),
)
CLAIMS = {
    "iss": "https://login.example",
    "aud": "shop",
    "exp": SECONDS + 60,
    "scope": "read write",
}
ASK = FunctionRule(name="check", function="check", sources=("$request.header.X",), ttl=10)


def encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def number(value: int) -> str:
    return encode(value.to_bytes((value.bit_length() + 7) // 8))


def keys() -> KeySet:
    public = KEY.public_key().public_numbers()
    row = {"kty": "RSA", "kid": "1", "n": number(public.n), "e": number(public.e)}
    other = {"kty": "EC", "kid": "2", "crv": "P-256"}
    return read_key_set("keys.json", json.dumps({"keys": [row, other]}).encode())


def token(key: Any = KEY, alg: str = "RS256", kid: str = "1", **claims: Any) -> str:
    header = encode(json.dumps({"alg": alg, "kid": kid}).encode())
    body = encode(json.dumps({**CLAIMS, **claims}).encode())
    signed = f"{header}.{body}".encode()
    if isinstance(key, rsa.RSAPrivateKey):
        signature = key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
    else:
        signature = key.sign(signed, ec.ECDSA(hashes.SHA256()))
    return f"{header}.{body}.{encode(signature)}"


def head(query: str = "", **headers: str) -> RequestHead:
    pairs = tuple((name.lower(), text) for name, text in headers.items())
    return RequestHead(method="GET", target=f"/?{query}", headers=pairs)


def checked(text: str) -> Verdict:
    return check_token(head(Authorization=f"Bearer {text}"), RULE, keys(), NOW)


@pytest.mark.parametrize(
    ("pattern", "token", "fits"),
    [("", "a", True), ("[a-z]+", "a", True), ("[a-z]+", "1", False), ("(", "1", True)],
)
def test_a_pattern_that_is_valid_only_for_aws_is_not_applied(
    pattern: str, token: str, *, fits: bool
) -> None:
    rule = FunctionRule(name="check", function="check", form=EventForm.TOKEN, pattern=pattern)
    assert has_token_form(rule, token) is fits


def test_a_valid_token_gives_its_claims_as_texts() -> None:
    found = checked(token())
    assert isinstance(found, dict)
    jwt: Any = found["jwt"]
    assert jwt["claims"]["exp"] == str(SECONDS + 60)
    assert jwt["scopes"] == ["write"]
    assert isinstance(checked(token(aud=None, client_id="shop")), dict)


@pytest.mark.parametrize(
    ("changes", "status", "why"),
    [
        ({"key": "rsa"}, 401, "its signature is invalid"),
        ({"key": "ec", "alg": "ES256", "kid": "2"}, 401, "its algorithm"),
        ({"alg": "none"}, 401, "its algorithm"),
        ({"kid": "9"}, 401, "its key is not in the JWKS file"),
        ({"iss": "https://other.example"}, 401, "another issuer"),
        ({"aud": "other"}, 401, "another audience"),
        ({"exp": SECONDS - 1}, 401, "has expired"),
        ({"nbf": SECONDS + 9}, 401, "not valid yet"),
        ({"exp": "soon"}, 401, "not numbers"),
        ({"scope": "read"}, 403, "none of the scopes write"),
    ],
)
def test_other_tokens_are_refused_with_a_reason(
    changes: dict[str, Any], status: int, why: str
) -> None:
    other: dict[str, Any] = {
        "rsa": lambda: rsa.generate_private_key(65537, 2048),
        "ec": lambda: ec.generate_private_key(ec.SECP256R1()),
    }
    key = other.get(changes.get("key", ""), lambda: KEY)()
    found = checked(token(**{**changes, "key": key}))
    assert isinstance(found, Denied)
    assert (found.status, why in found.why) == (status, True), found.why


@pytest.mark.parametrize(("text", "why"), [("", "no token"), ("a.b", "not a JSON Web Token")])
def test_other_texts_are_no_tokens(text: str, why: str) -> None:
    found = check_token(head(Authorization=text), RULE, keys(), NOW)
    assert isinstance(found, Denied)
    assert (found.status, why in found.why) == (401, True)


def test_a_file_without_keys_is_refused() -> None:
    for content in (b"{", b"[]", b'{"keys": [{"kty": "RSA", "kid": "1"}]}'):
        with pytest.raises(FabricError, match="--jwks"):
            read_key_set("keys.json", content)


def test_authorizers_answer_simply_or_with_a_policy() -> None:
    policy = FunctionRule(name="p", function="check", is_simple=False)
    allow: Any = {"policyDocument": {"Statement": [{"Effect": "Allow"}]}, "context": {"a": 1}}
    deny: Any = {"policyDocument": {"Statement": [{"Effect": "Allow"}, {"Effect": "Deny"}]}}
    assert read_verdict(ASK, {"isAuthorized": True}) == {"lambda": None}
    assert read_verdict(policy, allow) == {"lambda": {"a": 1}}
    cases: Any = ((ASK, {"isAuthorized": False}, 403), (policy, deny, 403), (ASK, {}, 500))
    for rule, response, status in (*cases, (policy, {}, 500), (ASK, None, 500)):
        found = read_verdict(rule, response)
        assert isinstance(found, Denied)
        assert found.status == status


def test_identity_sources_are_headers_and_query_values() -> None:
    sources = ("$request.header.X", "$request.querystring.key")
    assert read_identity(head("key=7", X="a"), sources) == ("a", "7")
    assert read_identity(head(), sources) == ("", "")


class Clock:
    now = NOW

    def __call__(self) -> datetime.datetime:
        return self.now


def test_verdicts_are_kept_for_their_time_and_errors_are_not() -> None:
    clock = Clock()
    state = AccessState(clock)
    state.keep(ASK, ("a",), {"lambda": None})
    state.keep(ASK, ("b",), Denied(500))
    assert state.find(ASK, ("a",)) == {"lambda": None}
    assert state.find(ASK, ("b",)) is None
    clock.now += datetime.timedelta(seconds=10)
    assert state.find(ASK, ("a",)) is None


def test_a_limit_refills_with_time() -> None:
    clock = Clock()
    state, limit = AccessState(clock), Limit(1, 2)
    assert [state.is_over("r", limit) for _ in range(3)] == [False, False, True]
    clock.now += datetime.timedelta(seconds=1)
    assert [state.is_over("r", limit) for _ in range(2)] == [False, True]
    assert state.is_over("r", Limit(0, 0))
