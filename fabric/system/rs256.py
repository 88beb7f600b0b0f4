"""RS256, the only signature that service accounts need. Keys and signatures use the cryptography
package."""

import base64
import json
from typing import TYPE_CHECKING

from msgspec import Struct

from fabric.model.distribution import Extra, PackageNeed
from fabric.model.secret import Secret
from fabric.system.optional_packages import require_packages

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

_NEED = PackageNeed("service account keys require", Extra.CLOUD, "credentials/not-installed")


class PrivateKey(Struct, frozen=True):
    secret: "Secret[RSAPrivateKey]"


def read_key(pem: str) -> PrivateKey:
    """Read and check the key of a PEM text (PKCS#8 or PKCS#1); a damaged one would give wrong
    signatures.

    Raises ValueError for anything else, without quoting it.
    """
    with require_packages(_NEED):
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
