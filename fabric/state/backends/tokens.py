"""Who we are for objstore2: a given token, or one that a service account signs for."""

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import urlencode

from fabric.model.secret import Secret
from fabric.state.backends.failures import failed, no_credentials, reaching, refused
from fabric.state.backends.rs256 import PrivateKey, read_key, token
from fabric.system.clock import Clock
from fabric.system.disk import read_bytes
from fabric.system.http_client import Http, HttpReply, HttpRequest

CREDENTIALS = "OBJSTORE2_CREDENTIALS_FILE or OBJSTORE2_ACCESS_TOKEN"
_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_FORM = "application/x-www-form-urlencoded"
_LIFE_SECONDS = 3600
# A token is not used in its last minute: it has to last for the call.
_MARGIN_SECONDS = 60


class Bearer(Protocol):
    def token(self) -> str: ...


class GivenToken:
    def __init__(self, token: str) -> None:
        self._token = token

    def token(self) -> str:
        return self._token


class ServiceAccount:
    """Thread-safe; asks for a new token when the last one is about to end."""

    def __init__(self, file: Path, http: Http, clock: Clock) -> None:
        words = _read(file)
        self._email = words["client_email"]
        self._key_id = words.get("private_key_id", "")
        self._key = _key(file, words["private_key"])
        self._uri = words["token_uri"]
        self._http = http
        self._clock = clock
        self._guard = threading.Lock()
        self._token = ""
        self._ends = 0.0

    def token(self) -> str:
        with self._guard:
            now = self._clock.monotonic()
            if not self._token or now >= self._ends:
                self._token, life = self._fetch()
                self._ends = now + life - _MARGIN_SECONDS
            return self._token

    def _fetch(self) -> tuple[str, float]:
        form = urlencode({"grant_type": _GRANT, "assertion": self._assertion()})
        request = HttpRequest("POST", self._uri, Secret({"Content-Type": _FORM}), form.encode())
        with reaching("the token service of objstore2"):
            reply = self._http.send(request)
        if not reply.ok:
            raise refused(f"the token service for {self._email}", f"status {reply.status}")
        return _token_of(reply)

    def _assertion(self) -> str:
        now = int(self._clock.now().timestamp())
        claims: dict[str, str | int] = {
            "iss": self._email,
            "scope": _SCOPE,
            "aud": self._uri,
            "iat": now,
            "exp": now + _LIFE_SECONDS,
        }
        return token({"alg": "RS256", "typ": "JWT", "kid": self._key_id}, claims, self._key)


def _token_of(reply: HttpReply) -> tuple[str, float]:
    try:
        answer = json.loads(reply.content)
        return str(answer["access_token"]), float(answer.get("expires_in", _LIFE_SECONDS))
    except (ValueError, TypeError, KeyError) as error:
        raise failed("the token service of objstore2", "its answer has no token") from error


def _read(file: Path) -> Mapping[str, str]:
    try:
        words = json.loads(read_bytes(file))
    except OSError as error:
        raise no_credentials(f"objstore2: cannot read `{file}`", CREDENTIALS) from error
    except ValueError:
        words = None
    needed = ("client_email", "private_key", "token_uri")
    if not isinstance(words, dict) or not all(isinstance(words.get(one), str) for one in needed):
        raise no_credentials(f"objstore2: `{file}` is no service account key", CREDENTIALS)
    return words


def _key(file: Path, pem: str) -> PrivateKey:
    try:
        return read_key(pem)
    except ValueError as error:
        raise no_credentials(f"objstore2: `{file}`: {error}", CREDENTIALS) from error
