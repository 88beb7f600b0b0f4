"""Authorization of registry calls: basic, or a token from the service that a challenge names."""

import re
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from fabric.model.image_names import is_loopback
from fabric.model.secret import Secret
from fabric.system.http_client import HttpReply, HttpRequest
from fabric.system.registries.credentials import RegistryLogin

_CHALLENGE = re.compile(r"\s*([A-Za-z]+)\s+(.*)", re.DOTALL)
_PARAMETER = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|([^\s,]+))')
_FORM = "application/x-www-form-urlencoded"


class Challenge(Struct, frozen=True):
    """The content of `WWW-Authenticate`."""

    scheme: str
    realm: str = ""
    service: str = ""
    scope: str = ""


def parse_challenge(header: str) -> Challenge | None:
    found = _CHALLENGE.match(header)
    if found is None:
        return None
    words = {key.lower(): one or two for key, one, two in _PARAMETER.findall(found[2])}
    named = {key: words.get(key, "") for key in ("realm", "service", "scope")}
    return Challenge(found[1].lower(), **named)


class _Token(Struct, frozen=True):
    token: str = ""
    access_token: str = ""


class Authorizer:
    """The tokens of one registry, for this process only. Thread-safe."""

    def __init__(
        self,
        login: RegistryLogin | None,
        send: Callable[[HttpRequest], HttpReply],
        *,
        insecure: bool = False,
    ) -> None:
        self._login = login
        self._send = send
        self._insecure = insecure
        self._guard = threading.Lock()
        self._known: dict[str, Secret[str]] = {}

    def header(self, scope: str) -> Mapping[str, str]:
        """Return the header for calls of this scope, as far as it is known."""
        with self._guard:
            known = self._known.get(scope)
        return {"Authorization": known.reveal()} if known else {}

    def answer(self, challenge: Challenge | None, scope: str) -> bool:
        """Get an authorization for a challenge. Returns whether a second call can succeed."""
        value = self._find_value(challenge, scope) if challenge else None
        if challenge is None or value is None:
            return False
        with self._guard:
            was, self._known[scope] = self._known.get(scope), value
        # A token can have expired; a login that was rejected once is rejected again.
        return challenge.scheme == "bearer" or was is None

    def _find_value(self, challenge: Challenge, scope: str) -> Secret[str] | None:
        if challenge.scheme == "basic":
            return self._login.basic if self._login else None
        if challenge.scheme == "bearer" and self._is_trusted(challenge.realm):
            return self._fetch_token(challenge, challenge.scope or scope)
        return None

    def _is_trusted(self, realm: str) -> bool:
        address = urlsplit(realm)
        is_local = is_loopback(address.netloc) or self._insecure
        return address.scheme == "https" or (address.scheme == "http" and is_local)

    def _fetch_token(self, challenge: Challenge, scope: str) -> Secret[str] | None:
        reply = self._send(self._build_token_request(challenge, scope))
        if not reply.ok:
            return None
        try:
            found = msgspec.json.decode(reply.content, type=_Token)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        token = found.token or found.access_token
        return Secret(f"Bearer {token}") if token else None

    def _build_token_request(self, challenge: Challenge, scope: str) -> HttpRequest:
        asked = {"service": challenge.service, "scope": scope}
        asked = {name: text for name, text in asked.items() if text}
        login = self._login
        if login and login.identity_token.reveal():
            form = {
                **asked,
                "grant_type": "refresh_token",
                "client_id": "fabric",
                "refresh_token": login.identity_token.reveal(),
            }
            content = urlencode(form).encode()
            return HttpRequest("POST", challenge.realm, Secret({"Content-Type": _FORM}), content)
        separator = "&" if urlsplit(challenge.realm).query else "?"
        given = {"Authorization": login.basic.reveal()} if login else {}
        return HttpRequest("GET", f"{challenge.realm}{separator}{urlencode(asked)}", Secret(given))
