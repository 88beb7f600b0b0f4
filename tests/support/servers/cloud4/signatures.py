"""Whether a call was signed by who says so: by the words of the SDK, and none of the product's."""

import datetime
import hashlib
import hmac
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote

from tests.support.servers.cloud4.account import Account, RefusedError

_LOGIN = re.compile(r"ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([^,]+),Signature=(\w+)")
_NEEDED = frozenset(
    (
        *("host", "x-acs-action", "x-acs-content-sha256", "x-acs-date", "x-acs-signature-nonce"),
        "x-acs-version",
    )
)
_MINUTES = 15
_VERSION = "2023-03-30"


def key_in(headers: Mapping[str, str]) -> str:
    found = _LOGIN.fullmatch(headers.get("authorization", ""))
    return found[1] if found else ""


def require_signed(
    account: Account, method: str, target: str, headers: Mapping[str, str], body: bytes
) -> None:
    """`headers` have names in small letters."""
    found = _LOGIN.fullmatch(headers.get("authorization", ""))
    names = found[2].split(";") if found else []
    wanted = _NEEDED | ({"content-type"} if body else set())
    own = {name for name in headers if name.startswith("x-acs-")}
    if found is None or not (wanted | own) <= set(names) or names != sorted(names):
        raise RefusedError(400, "IncompleteSignature", f"these headers are signed: {names}")
    digest = hashlib.sha256(body).hexdigest()
    if headers["x-acs-content-sha256"] != digest or headers["x-acs-version"] != _VERSION:
        raise RefusedError(400, "InvalidContentSha256", "the body is another one")
    _require_fresh(account, headers)
    path, _, query = target.partition("?")
    pairs = sorted(parse_qsl(query, keep_blank_values=True))
    asked = "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in pairs)
    told = "".join(f"{name}:{headers[name].strip()}\n" for name in names)
    canonical = "\n".join((method, path, asked, told, ";".join(names), digest))
    to_sign = f"ACS3-HMAC-SHA256\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    right = hmac.new(account.secret.encode(), to_sign.encode(), "sha256").hexdigest()
    if not hmac.compare_digest(right, found[3]):
        raise RefusedError(403, "SignatureDoesNotMatch", "the signature is not as computed")


def _require_fresh(account: Account, headers: Mapping[str, str]) -> None:
    said = datetime.datetime.fromisoformat(headers["x-acs-date"])
    away = abs(datetime.datetime.now(datetime.UTC) - said)  # noqa: TID251 - as the platform does
    if away > datetime.timedelta(minutes=_MINUTES):
        raise RefusedError(400, "InvalidTimeStamp.Expired", "the time of the call is past")
    nonce = headers["x-acs-signature-nonce"]
    if nonce in account.nonces:
        raise RefusedError(400, "SignatureNonceUsed", "the nonce was used before")
    account.nonces.add(nonce)
