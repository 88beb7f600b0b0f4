"""The authenticated envelope of every object: its author and its integrity. No effects.

The key proves that its holder wrote this object under this name. It also keys input hashes, so that
variable values cannot be guessed from them.
"""

import hmac
import zlib
from hashlib import sha256

from msgspec import Struct

from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.secrets.secret import Secret
from fabric.remote.contract import PACK_BYTES, ObjectKind, ObjectName

_MAGIC = b"FAB1"
_ID_END = 12
_MAC_END = 44
_FLAG_END = 45
_RAW, _DEFLATED = b"r", b"z"
_SHORTEST_KEY = 32
# What an object may hold once it is inflated: a bomb ends here.
_INFLATED = {
    ObjectKind.HEAD: 64 << 10,
    ObjectKind.SEGMENT: 256 << 20,
    ObjectKind.PACK: PACK_BYTES,
}


class SealKey(Struct, frozen=True):
    """One key with its id, which is not secret."""

    id: str
    _mac: Secret[bytes]
    _digests: Secret[bytes]

    def mac(self, title: str, content: bytes) -> bytes:
        words = b"%d:%s" % (len(title), title.encode())
        return hmac.digest(self._mac.reveal(), words + content, "sha256")

    def compute_key(self, digest: str) -> str:
        """Return a keyed hash, which only holders of the key can compute."""
        return hmac.digest(self._digests.reveal(), digest.encode(), "sha256").hex()


class SealKeys(Struct, frozen=True):
    """All trusted keys; the first one seals."""

    all: tuple[SealKey, ...]

    @property
    def first(self) -> SealKey:
        return self.all[0]

    def by_id(self, key_id: str) -> SealKey | None:
        return next((one for one in self.all if one.id == key_id), None)


class Opened(Struct, frozen=True):
    body: bytes
    key: SealKey


def parse_seal_keys(text: str) -> SealKeys:
    """Parse `new,old`. Raises ValueError for a key that is too short, without quoting it."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or any(len(word) < _SHORTEST_KEY for word in words):
        raise ValueError(f"a key must have at least {_SHORTEST_KEY} characters")
    return SealKeys(tuple(map(_derive_key, dict.fromkeys(words))))


def _derive_key(word: str) -> SealKey:
    secret = word.encode()
    key_id = sha256(b"fabric shared cache: id" + secret).hexdigest()[:8]
    return SealKey(key_id, _derive_secret(secret, b"mac"), _derive_secret(secret, b"digests"))


def _derive_secret(secret: bytes, what: bytes) -> Secret[bytes]:
    return Secret(hmac.digest(secret, b"fabric shared cache: " + what, "sha256"))


def build_head_name(scope: str, word: str) -> ObjectName:
    """Return the unique name of a head in a scope."""
    return ObjectName(ObjectKind.HEAD, hash_fields(("fabric shared cache", scope, word)))


def seal_head(keys: SealKeys, name: ObjectName, body: bytes) -> bytes:
    return _seal_bytes(keys.first, str(name), body)


def seal_object(keys: SealKeys, kind: ObjectKind, body: bytes) -> tuple[ObjectName, bytes]:
    """Seal an object and return it with the name derived from its bytes."""
    stored = _seal_bytes(keys.first, kind, body)
    return ObjectName(kind, hash_bytes(stored)), stored


def open_object(keys: SealKeys, name: ObjectName, stored: bytes) -> Opened | None:
    """Return the content sealed under this name with a trusted key; None for anything else."""
    if len(stored) > name.cap or stored[:4] != _MAGIC:
        return None
    key = keys.by_id(_read_key_id(stored))
    if key is None:
        return None
    is_head = name.kind is ObjectKind.HEAD
    if not is_head and hash_bytes(stored) != name.digest:
        return None
    title = str(name) if is_head else name.kind.value
    if not hmac.compare_digest(key.mac(title, stored[_MAC_END:]), stored[_ID_END:_MAC_END]):
        return None
    body = _unpack_bytes(stored[_MAC_END:_FLAG_END], stored[_FLAG_END:], _INFLATED[name.kind])
    return None if body is None else Opened(body, key)


def has_foreign_key(keys: SealKeys, stored: bytes) -> bool:
    """Return whether the object is sealed with an unknown key."""
    looks_right = stored[:4] == _MAGIC and len(stored) > _FLAG_END
    return looks_right and keys.by_id(_read_key_id(stored)) is None


def _read_key_id(stored: bytes) -> str:
    return stored[4:_ID_END].decode("ascii", "replace")


def _seal_bytes(key: SealKey, title: str, body: bytes) -> bytes:
    # Archives are deflated already: level 1 costs little where nothing is won.
    packed = zlib.compress(body, 1)
    rest = _DEFLATED + packed if len(packed) < len(body) else _RAW + body
    return b"".join((_MAGIC, key.id.encode(), key.mac(title, rest), rest))


def _unpack_bytes(flag: bytes, body: bytes, cap: int) -> bytes | None:
    if flag == _RAW:
        return body if len(body) <= cap else None
    if flag != _DEFLATED:
        return None
    inflate = zlib.decompressobj()
    try:
        found = inflate.decompress(body, cap + 1)
    except zlib.error:
        return None
    is_whole = inflate.eof and not inflate.unused_data and len(found) <= cap
    return found if is_whole else None
