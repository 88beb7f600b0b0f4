"""Output of a child between two answers."""

_KEPT = 1_000_000
_MOST = 10_000_000


class ChildOutput:
    """The end of the output, and its total size."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._count = 0
        self._is_left = False

    def add(self, chunk: bytes) -> None:
        self._count += len(chunk)
        self._bytes += chunk
        if len(self._bytes) > 2 * _KEPT:
            del self._bytes[:-_KEPT]

    @property
    def is_endless(self) -> bool:
        return self._count > _MOST and not self._is_left

    def leave_it(self) -> None:
        self._is_left = True

    def take(self) -> bytes:
        """Return the output. Truncated output starts at a whole line, because a partial secret
        would not be redacted."""
        text, was_cut = bytes(self._bytes[-_KEPT:]), self._count > len(self._bytes)
        self._bytes, self._count = bytearray(), 0
        return text.partition(b"\n")[2] if was_cut or len(text) == _KEPT else text
