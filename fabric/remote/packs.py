"""Contents in packs: one stream for each kind of task, cut into pieces of one size. Pure.

A content may lie in two packs, and a large one in many: where it begins and how long it is says
which.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.remote.contract import PACK_BYTES


class Extent(Struct, frozen=True, array_like=True):
    """Where a content lies in the stream of a kind."""

    stream: str
    offset: int
    size: int

    @property
    def packs(self) -> range:
        """The numbers of the packs that it lies in; an empty content lies in none."""
        if not self.size:
            return range(0)
        return range(self.offset // PACK_BYTES, (self.offset + self.size - 1) // PACK_BYTES + 1)


class PackCutter:
    """Takes the contents of one stream, and gives its packs as they fill up."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self._offset = 0
        self._rest = bytearray()

    def add(self, content: bytes) -> Extent:
        extent = Extent(self.stream, self._offset, len(content))
        self._offset += len(content)
        self._rest += content
        return extent

    def full(self) -> Iterator[bytes]:
        """Each pack that is full by now, once."""
        while len(self._rest) >= PACK_BYTES:
            yield bytes(self._rest[:PACK_BYTES])
            del self._rest[:PACK_BYTES]

    def last(self) -> Iterator[bytes]:
        """What is left in the end."""
        yield from self.full()
        if self._rest:
            yield bytes(self._rest)
            self._rest.clear()


def content_at(extent: Extent, packs: Mapping[int, bytes]) -> bytes | None:
    """The content out of the packs that it lies in; None where they do not reach so far."""
    parts = [packs[number] for number in extent.packs]
    if not parts:
        return b""
    begin = extent.offset - extent.packs[0] * PACK_BYTES
    content = b"".join(_whole_but_last(parts))[begin : begin + extent.size]
    return content if len(content) == extent.size else None


def _whole_but_last(parts: Sequence[bytes]) -> Iterator[bytes]:
    """A pack that is shorter than it should be would move what follows it."""
    for part in parts[:-1]:
        yield part if len(part) == PACK_BYTES else b""
    yield parts[-1]
