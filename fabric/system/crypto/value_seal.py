"""Encrypt and decrypt values with AES-GCM under the key of the process.

A sealed text is `<form>.<name of the key>.<nonce and ciphertext in base64>`.
"""

import base64
import functools
import hmac
import json
from typing import TYPE_CHECKING

from msgspec import ValidationError, convert
from msgspec.structs import astuple

from fabric.model.distribution import Extra, PackageNeed
from fabric.model.records.record import OpenedValues, ValueOwner
from fabric.model.secrets.secret import Secret
from fabric.model.secrets.state_key import STATE_KEY_VARIABLE, decode_state_key
from fabric.model.task import Pairs
from fabric.system.crypto.randomness import Chance
from fabric.system.optional_packages import require_packages

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SEALED_NEED = PackageNeed(f"{STATE_KEY_VARIABLE} requires", Extra.SEALED, "state/not-installed")
_FORM = "1"
_NONCE = 12
_KEY_NAME = 8


class ValueSeal:
    """Thread-safe encryption. Without a key it seals and opens nothing.

    The key is checked on first use; `require` checks it earlier.
    """

    def __init__(self, key: Secret[str | None], chance: Chance) -> None:
        self._text = key
        self._chance = chance

    @property
    def has_key(self) -> bool:
        return self._text.reveal() is not None

    def require(self) -> None:
        """Raise if a key is set and cannot be used."""
        if self.has_key:
            _ = self._cipher

    def seal(self, owner: ValueOwner, values: Pairs) -> str:
        if not self.has_key or not values:
            return ""
        nonce = bytes.fromhex(self._chance(_NONCE))
        closed = self._cipher.encrypt(nonce, json.dumps(values).encode(), _encode_owner(owner))
        return f"{_FORM}.{self._key_name}.{base64.b64encode(nonce + closed).decode()}"

    def open_values(self, owner: ValueOwner, text: str) -> OpenedValues:
        if not text:
            return OpenedValues()
        form, _, rest = text.partition(".")
        key_name, _, body = rest.partition(".")
        if form != _FORM:
            return OpenedValues(
                why_not="they are encrypted in a format that this version of "
                "fabric does not support"
            )
        if not self.has_key:
            return OpenedValues(why_not=f"they are encrypted, and {STATE_KEY_VARIABLE} is not set")
        if key_name != self._key_name:
            return OpenedValues(
                why_not=f"they are encrypted with another key ({key_name}) than "
                f"{STATE_KEY_VARIABLE} ({self._key_name})"
            )
        return self._with_key(owner, body)

    def is_as_good(self, text: str) -> bool:
        """Return whether a text was sealed with the present key; without a key, every text
        counts."""
        return not self.has_key or text.startswith(f"{_FORM}.{self._key_name}.")

    def _with_key(self, owner: ValueOwner, body: str) -> OpenedValues:
        with require_packages(SEALED_NEED):
            from cryptography.exceptions import InvalidTag

        try:
            raw = base64.b64decode(body, validate=True)
            plain = self._cipher.decrypt(raw[:_NONCE], raw[_NONCE:], _encode_owner(owner))
            return OpenedValues(Secret(convert(json.loads(plain), Pairs)))
        except (InvalidTag, ValueError, ValidationError):
            return OpenedValues(why_not="their encryption is damaged, or belongs to another record")

    @functools.cached_property
    def _key(self) -> Secret[bytes]:
        return decode_state_key(self._text.reveal() or "")

    @functools.cached_property
    def _key_name(self) -> str:
        """The name of the key, which identifies it without revealing it."""
        return hmac.new(self._key.reveal(), b"name", "sha256").hexdigest()[:_KEY_NAME]

    @functools.cached_property
    def _cipher(self) -> "AESGCM":
        with require_packages(SEALED_NEED):
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        return AESGCM(self._key.reveal())


def _encode_owner(owner: ValueOwner) -> bytes:
    return json.dumps(["values of a deploy", *astuple(owner.ref), *astuple(owner)[1:]]).encode()
