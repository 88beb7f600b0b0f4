"""The result of a cache lookup, independent of the Redis client."""

from msgspec import Struct


class Lookup(Struct, frozen=True):
    """The cached text, and the epoch for a new one; None if unknown."""

    text: bytes | None = None
    epoch: bytes | None = None
