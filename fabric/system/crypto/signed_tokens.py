"""Access tokens from a service account's key file: signatures with RS256, requests and lifetimes.

Signatures use the cryptography package. The only known service is the token endpoint in the file.
"""

import base64
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlencode

from msgspec import Struct

from fabric.model.distribution import Extra, PackageNeed
from fabric.model.secrets.secret import Secret
from fabric.system.clock import Clock
from fabric.system.http.http_client import HttpReply, HttpRequest
from fabric.system.optional_packages import require_packages

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_FORM = "application/x-www-form-urlencoded"
_LIFE_SECONDS = 3600
# A token is not used in its last minute: it has to last for the call.
_MARGIN_SECONDS = 60
_CRYPTOGRAPHY = PackageNeed(
    "service account keys require", Extra.CLOUD, "credentials/not-installed"
)
_KEY_FIELDS = ("client_email", "private_key", "token_uri")


class PrivateKey(Struct, frozen=True):
    secret: "Secret[RSAPrivateKey]"


def read_key(pem: str) -> PrivateKey:
    """Read and check the key of a PEM text (PKCS#8 or PKCS#1); a damaged one would give wrong
    signatures.

    Raises ValueError for anything else, without quoting it.
    """
    with require_packages(_CRYPTOGRAPHY):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    if "PRIVATE KEY-----" not in pem:
        raise ValueError("not a private key in PEM")
    try:
        found = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("the private key is damaged, encrypted or unsupported") from None
    if not isinstance(found, RSAPrivateKey):
        raise ValueError("not an RSA key")  # noqa: TRY004 - callers know one kind of damage
    return PrivateKey(Secret(found))


def sign(message: bytes, key: PrivateKey) -> bytes:
    """Sign with RSASSA-PKCS1-v1_5 and SHA-256 (RFC 8017, 8.2)."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    return key.secret.reveal().sign(message, PKCS1v15(), SHA256())


def build_token(header: dict[str, str], claims: dict[str, str | int], key: PrivateKey) -> str:
    """Build a signed JSON Web Token."""
    signed = f"{_encode_part(header)}.{_encode_part(claims)}"
    return f"{signed}.{_encode_base64(sign(signed.encode(), key))}"


def _encode_part(part: dict[str, str] | dict[str, str | int]) -> str:
    return _encode_base64(json.dumps(part, separators=(",", ":")).encode())


def _encode_base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


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
    if not isinstance(words, dict) or not all(
        isinstance(words.get(one), str) for one in _KEY_FIELDS
    ):
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
