"""An answer as terminal output; a separate module because every command imports it."""

from msgspec import Struct


class StoredAnswer(Struct, frozen=True):
    code: int
    out: str
    err: str
