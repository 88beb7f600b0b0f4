"""Challenges of registries, and where a login is never sent."""

import pytest

from fabric.model.secrets.secret import Secret
from fabric.system.http.http_client import HttpReply, HttpRequest
from fabric.system.registries.credentials import RegistryLogin
from fabric.system.registries.registry import Authorizer, Challenge, parse_challenge

_LOGIN = RegistryLogin("me", Secret("word"))


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ('Basic realm="x"', Challenge("basic", "x")),
        (
            'Bearer realm="https://a.example/token",service="s",scope="repository:a/b:pull,push"',
            Challenge("bearer", "https://a.example/token", "s", "repository:a/b:pull,push"),
        ),
        (
            "bearer realm=https://a.example , service = s",
            Challenge("bearer", "https://a.example", "s"),
        ),
        ("", None),
        ("Negotiate", None),
    ],
)
def test_challenges_are_parsed(header: str, found: Challenge | None) -> None:
    assert parse_challenge(header) == found


class Tokens:
    """A token service that answers everybody."""

    def __init__(self, content: bytes = b'{"access_token": "t"}', status: int = 200) -> None:
        self.requests: list[HttpRequest] = []
        self._reply = HttpReply(status, {}, content)

    def send(self, request: HttpRequest) -> HttpReply:
        self.requests.append(request)
        return self._reply


def _answer(tokens: Tokens, realm: str, login: RegistryLogin | None = _LOGIN) -> Authorizer:
    found = Authorizer(login, tokens.send)
    found.answer(Challenge("bearer", realm, "service"), "scope")
    return found


def test_a_token_is_sent_in_calls_of_its_scope_only() -> None:
    found = _answer(Tokens(), "https://a.example/token")
    assert found.header("scope") == {"Authorization": "Bearer t"}
    assert found.header("other") == {}


def test_a_token_service_without_tls_gets_no_login() -> None:
    tokens = Tokens()
    assert _answer(tokens, "http://a.example/token").header("scope") == {}
    assert tokens.requests == []


def test_a_token_service_on_this_machine_needs_no_tls() -> None:
    assert _answer(Tokens(), "http://127.0.0.1:5000/token").header("scope")


def test_without_a_login_a_token_is_anonymous() -> None:
    tokens = Tokens()
    _answer(tokens, "https://a.example/token?account=x", None)
    assert tokens.requests[0].url == "https://a.example/token?account=x&service=service&scope=scope"
    assert dict(tokens.requests[0].headers.reveal()) == {}


def test_an_identity_token_is_exchanged_in_the_body() -> None:
    tokens = Tokens()
    login = RegistryLogin("me", Secret(""), Secret("refresh"))
    _answer(tokens, "https://a.example/token", login)
    [request] = tokens.requests
    assert request.method == "POST"
    assert b"refresh_token=refresh" in request.content
    assert "refresh" not in request.url


@pytest.mark.parametrize(("content", "status"), [(b"{", 200), (b"{}", 200), (b"{}", 401)])
def test_no_token_is_no_authorization(content: bytes, status: int) -> None:
    found = _answer(Tokens(content, status), "https://a.example/token")
    assert found.header("scope") == {}


def test_a_rejected_basic_login_is_not_sent_twice() -> None:
    found = Authorizer(_LOGIN, Tokens().send)
    assert found.answer(Challenge("basic"), "scope")
    assert not found.answer(Challenge("basic"), "scope")
