"""A file of many small pieces: one is read, and checked, only when somebody wants it.

Knows nothing of what the pieces are. A file is written once and whole; what changes lies elsewhere.
"""

import os
import stat
from collections.abc import Iterable
from itertools import accumulate
from struct import Struct as Layout
from struct import error as layout_error
from struct import pack
from zlib import crc32

from fabric.model.problems import FabricError, Place, Problem
from fabric.ownership import has_our_stat
from fabric.system.disk import write_atomic

SUFFIX = ".pieces"
_CHECK_BYTES = 4
_NUMBER_BYTES = 8
# At the end of the file: the salt, where the table of pieces begins, its check, how many there are.
_TRAILER = Layout("<16sQIQ")
_SPAN = Layout("<QQ")


class DamagedPieceError(FabricError):
    """A piece is not what was written, although its file looks as if nobody had touched it."""


class Pieces:
    """An open file of pieces; another run may put a new one in its place meanwhile."""

    def __init__(self, path: str, salt: bytes, fd: int, table: bytes) -> None:
        self._path = path
        self.salt = salt
        self._fd = fd
        self._table = table

    def __len__(self) -> int:
        return len(self._table) // _NUMBER_BYTES - 1

    def __del__(self) -> None:
        os.close(self._fd)

    def read(self, number: int) -> bytes:
        """A piece as it was written."""
        begin, end = _SPAN.unpack_from(self._table, number * _NUMBER_BYTES)
        try:
            stored = os.pread(self._fd, end - begin, begin)
        except OSError:
            stored = b""
        content = stored[_CHECK_BYTES:]
        if len(stored) != end - begin or stored[:_CHECK_BYTES] != _check(number, content):
            raise self.damage()
        return content

    def damage(self) -> DamagedPieceError:
        """What to raise when a piece is not what it should be: the file goes away first."""
        _discard(self._path)
        problem = Problem(
            "cache/damaged",
            f"what `{self._path}` keeps of the last run is damaged",
            hint="run the command again: the damaged file has been dropped",
            where=Place(self._path),
        )
        return DamagedPieceError(problem)

    @property
    def is_sound(self) -> bool:
        """Whether every piece can be read."""
        try:
            return all(self.read(number) is not None for number in range(len(self)))
        except DamagedPieceError:
            return False


def write_pieces(path: str, salt: bytes, pieces: Iterable[bytes]) -> None:
    stored = [_check(number, content) + content for number, content in enumerate(pieces)]
    ends = list(accumulate(map(len, stored), initial=0))
    table = pack(f"<{len(ends)}Q", *ends)
    trailer = _TRAILER.pack(salt, ends[-1], crc32(salt + table), len(stored))
    write_atomic(path, b"".join((*stored, table, trailer)), mode=0o600)


def open_pieces(path: str) -> Pieces | None:
    """The pieces of a file, or None for anything else; nothing but its table is read."""
    try:
        # A named pipe in its place would be waited for, were it not for O_NONBLOCK.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        found = _table(fd)
    except (OSError, layout_error):
        found = None
    if found is None:
        os.close(fd)
        return None
    salt, table = found
    return Pieces(path, salt, fd, table)


def _table(fd: int) -> tuple[bytes, bytes] | None:
    """The salt of a file, and where its pieces begin: the last number is where they end."""
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or not has_our_stat(found):
        return None
    at = found.st_size - _TRAILER.size
    if at < 0:
        return None
    salt, begin, check, count = _TRAILER.unpack(os.pread(fd, _TRAILER.size, at))
    length = (count + 1) * _NUMBER_BYTES
    if begin + length != at:
        return None
    table = os.pread(fd, length, begin)
    return (salt, table) if crc32(salt + table) == check else None


def _check(number: int, content: bytes) -> bytes:
    """A mark that damaged content does not carry, nor one that belongs elsewhere."""
    return pack("<I", crc32(content, number))


def _discard(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return
