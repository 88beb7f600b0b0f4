"""The interface of shared cache stores: whole objects under fabric's own names.

It uses no conditions, ranges, batches or lengths, because few servers implement them reliably.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, runtime_checkable

from msgspec import Struct

from fabric.model.names import Digest

# What a pack holds before it is packed; the envelope takes a little besides.
PACK_BYTES = 4 << 20
ENVELOPE_BYTES = 64
# So often a part is added again that another writer has overwritten.
_TRIES = 3


class ObjectKind(StrEnum):
    """A kind of object. A head is small and changes. All other objects are named by their hash and
    never change."""

    HEAD = "h"
    SEGMENT = "s"
    PACK = "p"


# No more than this is read of an answer, whatever it says of its length.
CAPS = {
    ObjectKind.HEAD: 64 << 10,
    ObjectKind.SEGMENT: 64 << 20,
    ObjectKind.PACK: PACK_BYTES + ENVELOPE_BYTES,
}


class ObjectName(Struct, frozen=True):
    """A name of hexadecimal digits only: some servers interpret a name as a path."""

    kind: ObjectKind
    digest: Digest

    @property
    def cap(self) -> int:
        return CAPS[self.kind]

    def __str__(self) -> str:
        return f"{self.kind}-{self.digest}"


class CarrierError(Exception):
    """The store failed; `str` is the reason, without credentials."""


class CarrierRefusedError(CarrierError):
    """A permanent failure: no permission, or no such store."""


class OversizedError(CarrierError):
    """The store rejects objects of this size."""


class Carrier(Protocol):
    """An object store. Thread-safe. Calls have no timeout: the caller sets a deadline."""

    @property
    def place(self) -> str:
        """The location of the objects for messages, without credentials."""

    def get(self, name: ObjectName) -> bytes | None:
        """Return the object, or None if it does not exist. Raises for one larger than its limit."""

    def put(self, name: ObjectName, content: bytes) -> None: ...
    def close(self) -> None: ...


@runtime_checkable
class ChangingCarrier(Carrier, Protocol):
    """A store with conditional writes: of two concurrent changes, none is lost."""

    def change(self, name: ObjectName, changed: Callable[[bytes | None], bytes]) -> None: ...


def change_object(
    carrier: Carrier, name: ObjectName, changed: Callable[[bytes | None], bytes]
) -> None:
    """Read an object, change it and write it.

    Without conditions, the last of two writers wins. A writer that detects this repeats its change,
    so only simultaneous writes can lose one.
    """
    if isinstance(carrier, ChangingCarrier):
        carrier.change(name, changed)
        return
    for _ in range(_TRIES):
        content = changed(carrier.get(name))
        carrier.put(name, content)
        if carrier.get(name) == content:
            return
