"""Signatures of access tokens, checked with the public keys of a JWKS file.

API Gateway accepts only RSA signatures, so other algorithms are refused here, too.
"""

import base64
import json
from typing import TYPE_CHECKING, Any

from fabric.model.distribution import Extra, PackageNeed
from fabric.model.problems import FabricError, Problem
from fabric.system.optional_packages import require_packages

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

_CRYPTOGRAPHY = PackageNeed("JWT authorizers require", Extra.CLOUD, "usage/not-installed")
_HASHES = {"RS256": "SHA256", "RS384": "SHA384", "RS512": "SHA512"}
_PARTS = 3


class BadTokenError(Exception):
    """A token that is not valid. The text names the reason without quoting the token."""


class KeySet:
    """Public RSA keys by their ids."""

    def __init__(self, keys: "dict[str, RSAPublicKey]") -> None:
        self._keys = keys

    def read_claims(self, token: str) -> dict[str, Any]:
        """Return the claims of a token with a valid signature. Times are not checked here."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15

        parts = token.split(".")
        if len(parts) != _PARTS:
            raise BadTokenError("it is not a JSON Web Token")
        try:
            header, claims = json.loads(_decode(parts[0])), json.loads(_decode(parts[1]))
            signature = _decode(parts[2])
        except ValueError as error:
            raise BadTokenError("it is not a JSON Web Token") from error
        if not isinstance(header, dict) or not isinstance(claims, dict):
            raise BadTokenError("it is not a JSON Web Token")
        name = _HASHES.get(str(header.get("alg")))
        if name is None:
            raise BadTokenError("its algorithm is not RS256, RS384 or RS512")
        key = self._keys.get(str(header.get("kid")))
        if key is None:
            raise BadTokenError("its key is not in the JWKS file")
        signed = f"{parts[0]}.{parts[1]}".encode()
        try:
            key.verify(signature, signed, PKCS1v15(), getattr(hashes, name)())
        except InvalidSignature as error:
            raise BadTokenError("its signature is invalid") from error
        return claims


def read_key_set(name: str, content: bytes) -> KeySet:
    """Read a JWKS document. Keys of other types are ignored."""
    with require_packages(_CRYPTOGRAPHY):
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
    try:
        rows = json.loads(content)["keys"]
        found = {
            str(row["kid"]): RSAPublicNumbers(_read_number(row["e"]), _read_number(row["n"]))
            for row in rows
            if row.get("kty") == "RSA" and "kid" in row
        }
        keys = {kid: numbers.public_key() for kid, numbers in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"invalid value for --jwks: `{name}` is not a JSON Web Key Set"
        hint = 'use a file such as {"keys": [{"kty": "RSA", "kid": "1", "n": "…", "e": "AQAB"}]}'
        raise FabricError(Problem("usage/bad-value", message, hint)) from error
    return KeySet(keys)


def _read_number(text: str) -> int:
    return int.from_bytes(_decode(text))


def _decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
