"""Read chunks of any size in the sizes that a format needs, with a limit."""

from collections.abc import Iterator

from fabric.system.source.entries import refuse

_CHUNK = 1 << 16


class Stream:
    """A stream, read once from front to back; more than `most` bytes are rejected."""

    def __init__(self, chunks: Iterator[bytes], most: int) -> None:
        self._chunks = chunks
        self._most = most
        self._left = most
        self._waiting = b""

    def take(self, size: int) -> bytes:
        """Return exactly this number of bytes."""
        return b"".join(self._take(size))

    def pieces(self, size: int, block: int) -> Iterator[bytes]:
        """Yield this number of bytes, and skip the padding of the last block."""
        yield from self._take(size)
        self.take(-size % block)

    def expect_only_zeros(self) -> None:
        while not self._waiting.strip(b"\0") and self._fill():
            pass
        if self._waiting.strip(b"\0"):
            refuse("has data after its end")

    def _take(self, size: int) -> Iterator[bytes]:
        while size:
            if not self._waiting and not self._fill():
                refuse("ends early")
            piece, self._waiting = self._waiting[:size], self._waiting[size:]
            size -= len(piece)
            yield piece

    def _fill(self) -> bool:
        self._waiting = next((chunk for chunk in self._chunks if chunk), b"")
        self._left -= len(self._waiting)
        if self._left < 0:
            refuse(f"exceeds {self._most:,} bytes when unpacked")
        return bool(self._waiting)
