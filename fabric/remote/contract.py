"""What a carrier of the shared cache is: whole objects under names of our own, nothing more.

No server is asked for a condition, a range, a batch or a length: few of them give what they say.
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
    """A head is small and changes; what it leads to is named by its own bytes, and never does."""

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
    """Of hexadecimal digits only: some servers take a path for a name, and follow it."""

    kind: ObjectKind
    digest: Digest

    @property
    def cap(self) -> int:
        return CAPS[self.kind]

    def __str__(self) -> str:
        return f"{self.kind}-{self.digest}"


class CarrierError(Exception):
    """The store did not do what it was asked; `str` says why, without any credential."""


class CarrierRefusedError(CarrierError):
    """It will not do it the next time either: no rights, or nobody there by that name."""


class OversizedError(CarrierError):
    """The store takes no object of this size."""


class Carrier(Protocol):
    """Thread-safe. A call may last as long as it likes: whoever waits for it has a deadline."""

    @property
    def place(self) -> str:
        """Where the objects lie, for people; never a credential in it."""

    def get(self, name: ObjectName) -> bytes | None:
        """The object, or None where there is none; more than its cap is an error."""

    def put(self, name: ObjectName, content: bytes) -> None: ...
    def close(self) -> None: ...


@runtime_checkable
class ChangingCarrier(Carrier, Protocol):
    """A store that keeps conditions: of two that change an object at once none is lost."""

    def change(self, name: ObjectName, changed: Callable[[bytes | None], bytes]) -> None: ...


def change_object(
    carrier: Carrier, name: ObjectName, changed: Callable[[bytes | None], bytes]
) -> None:
    """Put what becomes of an object. Without conditions the last of two writers wins: whoever sees
    that it was not the last adds its part again, and only two at the very same moment lose one."""
    if isinstance(carrier, ChangingCarrier):
        carrier.change(name, changed)
        return
    for _ in range(_TRIES):
        content = changed(carrier.get(name))
        carrier.put(name, content)
        if carrier.get(name) == content:
            return
