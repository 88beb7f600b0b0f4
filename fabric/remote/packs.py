"""Contents in packs: one stream per kind of task, cut into pieces of equal size. No effects.

Content can span several packs; its offset and size locate it.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.remote.contract import PACK_BYTES


class Extent(Struct, frozen=True, array_like=True):
    """The location of content in the stream of a kind."""

    stream: str
    offset: int
    size: int

    @property
    def packs(self) -> range:
        """Return the numbers of its packs; none for empty content."""
        if not self.size:
            return range(0)
        return range(self.offset // PACK_BYTES, (self.offset + self.size - 1) // PACK_BYTES + 1)


class PackCutter:
    """Collects the contents of one stream and yields packs as they fill up."""

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
        """Yield each pack that is full, once."""
        while len(self._rest) >= PACK_BYTES:
            yield bytes(self._rest[:PACK_BYTES])
            del self._rest[:PACK_BYTES]

    def last(self) -> Iterator[bytes]:
        """Return the remaining partial pack."""
        yield from self.full()
        if self._rest:
            yield bytes(self._rest)
            self._rest.clear()


def read_content(extent: Extent, packs: Mapping[int, bytes]) -> bytes | None:
    """Read content from its packs; None if they are too short."""
    parts = [packs[number] for number in extent.packs]
    if not parts:
        return b""
    begin = extent.offset - extent.packs[0] * PACK_BYTES
    content = b"".join(_require_full_parts(parts))[begin : begin + extent.size]
    return content if len(content) == extent.size else None


def _require_full_parts(parts: Sequence[bytes]) -> Iterator[bytes]:
    """Check the sizes: a short pack would shift all following content."""
    for part in parts[:-1]:
        yield part if len(part) == PACK_BYTES else b""
    yield parts[-1]
