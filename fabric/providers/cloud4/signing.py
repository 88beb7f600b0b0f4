"""Signatures of Alibaba Cloud calls: a keyed hash of the whole call. No effects."""

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlsplit

from msgspec import Struct

from fabric.model.secret import Secret
from fabric.providers.core.http_calls import ProviderCall

VERSION = "2023-03-30"
_ALGORITHM = "ACS3-HMAC-SHA256"
_SIGNED = ("content-type", "host")
_SIGNED_BEGINS = "x-acs-"


class AccessKey(Struct, frozen=True):
    ident: str
    secret: Secret[str]


class SignedMoment(Struct, frozen=True):
    """The time of a call and a unique nonce."""

    time: str
    nonce: str


def build_signed_headers(
    call: ProviderCall, host: str, action: str, moment: SignedMoment
) -> dict[str, str]:
    """Build all signed headers, with lowercase names."""
    return {
        "host": host,
        "x-acs-action": action,
        "x-acs-version": VERSION,
        "x-acs-date": moment.time,
        "x-acs-signature-nonce": moment.nonce,
        "x-acs-content-sha256": hashlib.sha256(call.content).hexdigest(),
        **({"content-type": call.content_type} if call.content else {}),
    }


def sign_headers(key: AccessKey, method: str, url: str, headers: Mapping[str, str]) -> Secret[str]:
    place = urlsplit(url)
    names = sorted(one for one in headers if one in _SIGNED or one.startswith(_SIGNED_BEGINS))
    pairs = sorted(parse_qsl(place.query, keep_blank_values=True))
    asked = "\n".join(
        (
            method,
            place.path or "/",
            "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in pairs),
            *(f"{name}:{headers[name].strip()}" for name in names),
            "",
            ";".join(names),
            headers["x-acs-content-sha256"],
        )
    )
    to_sign = f"{_ALGORITHM}\n{hashlib.sha256(asked.encode()).hexdigest()}"
    secret = key.secret.reveal().encode()
    signature = hmac.new(secret, to_sign.encode(), "sha256").hexdigest()
    signed = ";".join(names)
    return Secret(
        f"{_ALGORITHM} Credential={key.ident},SignedHeaders={signed},Signature={signature}"
    )
