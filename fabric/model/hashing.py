"""Digests over length-prefixed fields, so that no two lists of fields share one encoding."""

import hashlib
from collections.abc import Iterable

from fabric.model.names import Digest

_LENGTH = 64


def hash_bytes(content: bytes) -> Digest:
    return Digest(hashlib.sha256(content).hexdigest())


def is_digest(text: str) -> bool:
    return len(text) == _LENGTH and not text.strip("0123456789abcdef")


def hash_fields(fields: Iterable[str]) -> Digest:
    """Hash a list of texts unambiguously: ("ab", "c") and ("a", "bc") differ."""
    # One text and one update: a thousand small updates cost ten times as much.
    text = "".join([f"{len(field)}:{field}" for field in fields])
    return hash_bytes(text.encode("utf-8", "surrogatepass"))
