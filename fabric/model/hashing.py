"""Digests over length-prefixed fields, so that no two lists of fields share one encoding."""

import hashlib
from collections.abc import Iterable

from fabric.model.names import Digest

_LENGTH = 64
_SEAL_BYTES = 32


def digest_bytes(content: bytes) -> Digest:
    return Digest(hashlib.sha256(content).hexdigest())


def sealed(name: str, content: bytes) -> bytes:
    """Content as it is stored under a name: a digest over both before it."""
    return _seal(name, content) + content


def unsealed(name: str, stored: object) -> bytes | None:
    """What was stored under a name; None for anything that was not stored just so."""
    if not isinstance(stored, bytes):
        return None
    content = stored[_SEAL_BYTES:]
    return content if stored[:_SEAL_BYTES] == _seal(name, content) else None


def _seal(name: str, content: bytes) -> bytes:
    title = name.encode("utf-8", "surrogateescape")
    seal = hashlib.sha256(b"%d:%s" % (len(title), title))
    seal.update(content)
    return seal.digest()


def is_digest(text: str) -> bool:
    return len(text) == _LENGTH and not text.strip("0123456789abcdef")


def digest_fields(fields: Iterable[str]) -> Digest:
    """The digest of a list of texts; ("ab", "c") and ("a", "bc") differ."""
    # One text and one update: a thousand small updates cost ten times as much.
    text = "".join([f"{len(field)}:{field}" for field in fields])
    return digest_bytes(text.encode("utf-8", "surrogatepass"))
