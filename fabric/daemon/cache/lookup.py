"""What a store of answers has for a key; to know it takes no client of Redis."""

from msgspec import Struct


class Lookup(Struct, frozen=True):
    """What is kept, and the epoch that a new text would be of; None for what is not known."""

    text: bytes | None = None
    epoch: bytes | None = None
