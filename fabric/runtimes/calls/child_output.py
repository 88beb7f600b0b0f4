"""What a child writes between two answers."""

_KEPT = 1_000_000
_MOST = 10_000_000


class ChildOutput:
    """The last of it, and how much there was."""

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

    def taken(self) -> bytes:
        """What was cut begins with a whole line: half of a secret would not be known as one."""
        text, was_cut = bytes(self._bytes[-_KEPT:]), self._count > len(self._bytes)
        self._bytes, self._count = bytearray(), 0
        return text.partition(b"\n")[2] if was_cut or len(text) == _KEPT else text
