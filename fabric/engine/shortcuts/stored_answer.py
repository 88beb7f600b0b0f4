"""An answer as it goes to the terminal; apart, since every command has one and few are kept."""

from msgspec import Struct


class StoredAnswer(Struct, frozen=True):
    code: int
    out: str
    err: str
