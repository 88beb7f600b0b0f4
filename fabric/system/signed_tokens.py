"""Access tokens from a service account's key file: requests and lifetimes.

The only known service is the token endpoint in the file.
"""

import json
import threading
from collections.abc import Callable
from typing import Protocol
from urllib.parse import urlencode

from msgspec import Struct

from fabric.model.secret import Secret
from fabric.system.clock import Clock
from fabric.system.http_client import HttpReply, HttpRequest
from fabric.system.rs256 import PrivateKey, build_token, read_key

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_FORM = "application/x-www-form-urlencoded"
_LIFE_SECONDS = 3600
# A token is not used in its last minute: it has to last for the call.
_MARGIN_SECONDS = 60
_NEEDED = ("client_email", "private_key", "token_uri")


class Bearer(Protocol):
    def token(self) -> str: ...


class IssuedToken(Struct, frozen=True):
    text: Secret[str]

    def token(self) -> str:
        return self.text.reveal()


class AccountKey(Struct, frozen=True):
    """A service account key."""

    email: str
    # The token endpoint.
    uri: str
    key: PrivateKey
    key_id: str = ""


class RequestedToken(Struct, frozen=True):
    text: Secret[str]
    seconds: float


def read_account_key(content: bytes | str) -> AccountKey:
    """Parse the text of a key file. Raises ValueError for anything else, without quoting it."""
    try:
        words = json.loads(content)
    except ValueError:
        words = None
    if not isinstance(words, dict) or not all(isinstance(words.get(one), str) for one in _NEEDED):
        raise ValueError("not a service account key")
    key = read_key(words["private_key"])
    return AccountKey(
        words["client_email"], words["token_uri"], key, words.get("private_key_id", "")
    )


def build_token_request(account: AccountKey, scope: str, now: int) -> HttpRequest:
    claims: dict[str, str | int] = {
        "iss": account.email,
        "scope": scope,
        "aud": account.uri,
        "iat": now,
        "exp": now + _LIFE_SECONDS,
    }
    head = {"alg": "RS256", "typ": "JWT", "kid": account.key_id}
    form = urlencode({"grant_type": _GRANT, "assertion": build_token(head, claims, account.key)})
    return HttpRequest("POST", account.uri, Secret({"Content-Type": _FORM}), form.encode())


def parse_token(reply: HttpReply) -> RequestedToken:
    """Parse the token of a response. Raises ValueError if there is none."""
    try:
        answer = json.loads(reply.content)
        seconds = float(answer.get("expires_in", _LIFE_SECONDS))
        return RequestedToken(Secret(str(answer["access_token"])), seconds)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("its response contains no token") from None


class StoredToken:
    """A thread-safe token cache; it requests a new token shortly before the old one expires."""

    def __init__(self, ask: Callable[[], RequestedToken], clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._guard = threading.Lock()
        self._token = Secret("")
        self._ends = 0.0

    def token(self) -> str:
        with self._guard:
            now = self._clock.monotonic()
            if not self._token.reveal() or now >= self._ends:
                asked = self._ask()
                self._token, self._ends = asked.text, now + asked.seconds - _MARGIN_SECONDS
            return self._token.reveal()
