"""The key under which records keep the values of deploys: taken from the process, never shown."""

import base64
import binascii

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret

STATE_KEY_VARIABLE = "FABRIC_STATE_KEY"
KEY_BYTES = 32
# Both alphabets of base64 are written by common tools, with and without padding.
_ALPHABET = str.maketrans("-_", "+/")


def decode_state_key(text: str) -> Secret[bytes]:
    """Decode a key. Raises if invalid, without showing its text."""
    raw = _decode_hex(text.strip()) or _decode_base64(text.strip())
    if raw is None:
        raise FabricError(
            Problem(
                "usage/bad-value",
                f"{STATE_KEY_VARIABLE} must be {KEY_BYTES} bytes, in hexadecimal or base64",
                hint="generate a key with: openssl rand -hex 32, or unset the variable",
            )
        )
    return Secret(raw)


def _decode_hex(text: str) -> bytes | None:
    try:
        return _require_key_size(binascii.unhexlify(text))
    except ValueError:
        return None


def _decode_base64(text: str) -> bytes | None:
    bare = text.translate(_ALPHABET).rstrip("=")
    try:
        return _require_key_size(base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True))
    except ValueError:
        return None


def _require_key_size(raw: bytes) -> bytes | None:
    return raw if len(raw) == KEY_BYTES else None
