"""Shared Key: how requests to Azure Storage are signed, and the account that signs them."""

import base64
import datetime
import hmac
from collections.abc import Mapping
from email.utils import format_datetime
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.secrets.secret import Secret
from fabric.system.clock import Clock
from fabric.system.http.http_client import HttpRequest

# What the service takes into the signature by name, in this order (version 2015-02-21 and later).
_SIGNED = (
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)
_API = _SAS = "2021-12-02"


class Objstore3Account(Struct, frozen=True):
    name: str
    key: Secret[bytes]
    endpoint: str


def sign_request(request: HttpRequest, account: Objstore3Account, clock: Clock) -> HttpRequest:
    headers = {
        **{name.lower(): value for name, value in request.headers.reveal().items()},
        "x-ms-date": format_datetime(clock.now(), usegmt=True),
        "x-ms-version": _API,
    }
    length = str(len(request.content)) if request.content else ""
    text = _build_text_to_sign(request, {**headers, "content-length": length}, account.name)
    mac = base64.b64encode(hmac.digest(account.key.reveal(), text.encode(), "sha256")).decode()
    headers["authorization"] = f"SharedKey {account.name}:{mac}"
    return replace(request, headers=Secret(headers))


def sign_reading(account: Objstore3Account, path: str, until: datetime.datetime) -> str:
    """Return the address of a blob with a signature that allows to read it: a service SAS."""
    expiry = until.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    protocol = "https" if account.endpoint.startswith("https:") else ""
    # Permissions, start, expiry, resource, identifier, IP, protocol, version, kind; then snapshot,
    # scope and five response headers, all empty.
    fields = ("r", "", expiry, f"/blob/{account.name}{path}", "", "", protocol, _SAS, "b")
    text = "\n".join((*fields, *("" for _ in range(7))))
    mac = base64.b64encode(hmac.digest(account.key.reveal(), text.encode(), "sha256")).decode()
    words = {"sv": _SAS, "se": expiry, "sr": "b", "sp": "r", "spr": protocol, "sig": mac}
    query = urlencode({name: word for name, word in words.items() if word})
    return f"{account.endpoint.rstrip('/')}{path}?{query}"


def _build_text_to_sign(request: HttpRequest, headers: Mapping[str, str], account: str) -> str:
    url = urlsplit(request.url)
    own = sorted(name for name in headers if name.startswith("x-ms-"))
    words = sorted(parse_qsl(url.query, keep_blank_values=True))
    return "\n".join(
        (
            request.method,
            *(headers.get(name, "") for name in _SIGNED),
            *(f"{name}:{headers[name]}" for name in own),
            f"/{account}{url.path or '/'}",
            *(f"{name.lower()}:{value}" for name, value in words),
        )
    )
