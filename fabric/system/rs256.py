"""RS256, the one signature that a service account needs, from a PKCS#8 key: integers only."""

import base64
import binascii
import json
from hashlib import sha256

from msgspec import Struct

from fabric.model.secret import Secret

_BEGIN, _END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
_INTEGER, _OCTETS, _SEQUENCE = 0x02, 0x04, 0x30
_LONG_FORM = 0x80
# DER of DigestInfo for SHA-256, up to the digest itself (RFC 8017, 9.2).
_SHA256_INFO = bytes.fromhex("3031300d060960864801650304020105000420")


class PrivateKey(Struct, frozen=True):
    modulus: int
    exponent: Secret[int]

    @property
    def size(self) -> int:
        return (self.modulus.bit_length() + 7) // 8


def read_key(pem: str) -> PrivateKey:
    """The key of a PEM text; ValueError, without a word of it, for anything else."""
    head, begin, rest = pem.partition(_BEGIN)
    body, end, _ = rest.partition(_END)
    if head.strip() or not begin or not end:
        raise ValueError("not a PKCS#8 private key in PEM")
    try:
        der = base64.b64decode("".join(body.split()), validate=True)
        # PrivateKeyInfo: version, algorithm, then RSAPrivateKey in octets (RFC 5208).
        info = _parts(_parts(der)[0][1])
        # RSAPrivateKey: version, modulus, public exponent, private exponent, ... (RFC 8017).
        numbers = _parts(_parts(info[2][1])[0][1])
        modulus, exponent = numbers[1], numbers[3]
    except (binascii.Error, IndexError):
        raise ValueError("the private key is damaged") from None
    if info[2][0] != _OCTETS or {modulus[0], exponent[0]} != {_INTEGER}:
        raise ValueError("not an RSA key")
    return PrivateKey(int.from_bytes(modulus[1]), Secret(int.from_bytes(exponent[1])))


def sign(message: bytes, key: PrivateKey) -> bytes:
    """RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, 8.2)."""
    info = _SHA256_INFO + sha256(message).digest()
    padding = b"\xff" * (key.size - len(info) - 3)
    padded = b"\x00\x01" + padding + b"\x00" + info
    return pow(int.from_bytes(padded), key.exponent.reveal(), key.modulus).to_bytes(key.size)


def token(header: dict[str, str], claims: dict[str, str | int], key: PrivateKey) -> str:
    """A signed JSON Web Token."""
    signed = f"{_packed(header)}.{_packed(claims)}"
    return f"{signed}.{_text(sign(signed.encode(), key))}"


def _packed(part: dict[str, str] | dict[str, str | int]) -> str:
    return _text(json.dumps(part, separators=(",", ":")).encode())


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _parts(der: bytes) -> list[tuple[int, bytes]]:
    """Tags and contents of the elements that follow each other."""
    parts: list[tuple[int, bytes]] = []
    at = 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length >= _LONG_FORM:
            width = length - _LONG_FORM
            length, at = int.from_bytes(der[at : at + width]), at + width
        parts.append((tag, der[at : at + length]))
        at += length
    return parts
