"""Shared Key: how requests to objstore3 are signed, and the account that signs them."""

import base64
import binascii
import hmac
import re
from collections.abc import Mapping
from email.utils import format_datetime
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.secret import Secret
from fabric.state.backends.failures import no_credentials_error
from fabric.system.clock import Clock
from fabric.system.http_client import HttpRequest

CREDENTIALS = "OBJSTORE3_CONNECTION_STRING, or OBJSTORE3_ACCOUNT and OBJSTORE3_KEY"
_PLACE = "objstore3"
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
_API = "2021-12-02"
# It becomes a part of the host.
_NAME = re.compile(r"[A-Za-z0-9-]{1,63}")


class Objstore3Account(Struct, frozen=True):
    name: str
    key: Secret[bytes]
    endpoint: str


def read_objstore3_account(env: Mapping[str, str]) -> Objstore3Account:
    words = _parse_connection_string(env.get("OBJSTORE3_CONNECTION_STRING", ""))
    name = words.get("AccountName") or env.get("OBJSTORE3_ACCOUNT", "")
    key = words.get("AccountKey") or env.get("OBJSTORE3_KEY", "")
    if not name or not key:
        raise no_credentials_error(_PLACE, CREDENTIALS)
    if not _NAME.fullmatch(name):
        raise no_credentials_error(f"{_PLACE}: invalid account name", CREDENTIALS)
    scheme = words.get("DefaultEndpointsProtocol") or "https"
    suffix = words.get("EndpointSuffix") or "core.windows.net"
    chosen = env.get("OBJSTORE3_ENDPOINT_URL") or words.get("BlobEndpoint")
    return Objstore3Account(
        name, Secret(_decode_key(key)), chosen or f"{scheme}://{name}.blob.{suffix}"
    )


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


def _parse_connection_string(text: str) -> dict[str, str]:
    """Parse a connection string `Name=value;…`. A value can contain `=`."""
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _decode_key(key: str) -> bytes:
    try:
        return base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise no_credentials_error(
            f"{_PLACE}: the account key is not base64", CREDENTIALS
        ) from None
