"""A file of many small pieces, each read and verified on demand.

The format knows nothing of their content. Files are written once and never changed.
"""

import os
import stat
from collections.abc import Iterable
from itertools import accumulate
from struct import Struct as Layout
from struct import error as layout_error
from struct import pack

from fabric.cache_seal import SEAL_BYTES, CacheSeal
from fabric.model.problems import FabricError, Place, Problem
from fabric.ownership import has_our_stat
from fabric.system.files.disk import write_atomic

SUFFIX = ".pieces"
_NUMBER_BYTES = 8
# At the end of the file: the salt, where the table of pieces begins, its seal, how many there are.
_TRAILER = Layout(f"<16sQ{SEAL_BYTES}sQ")
_SPAN = Layout("<QQ")


class DamagedPieceError(FabricError):
    """A piece is damaged although the file's metadata is unchanged."""


class Pieces:
    """An open file of pieces. Another run can replace the file meanwhile."""

    def __init__(self, path: str, fd: int, seal: CacheSeal, salt: bytes, table: bytes) -> None:
        self._path, self._fd = path, fd
        self._seal = seal
        self.salt = salt
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
        content = self._seal.unseal(_build_seal_context(self.salt, number), stored)
        if content is None:
            raise self.damage()
        return content

    def damage(self) -> DamagedPieceError:
        """Delete the damaged file and return the error to raise."""
        _discard(self._path)
        problem = Problem(
            "cache/damaged",
            f"the stored data of the last run in `{self._path}` is damaged",
            hint="run the command again: the damaged file was deleted",
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


def write_pieces(path: str, seal: CacheSeal, salt: bytes, pieces: Iterable[bytes]) -> None:
    stored = [
        seal.seal(_build_seal_context(salt, number), content)
        for number, content in enumerate(pieces)
    ]
    ends = list(accumulate(map(len, stored), initial=0))
    table = pack(f"<{len(ends)}Q", *ends)
    trailer = _TRAILER.pack(
        salt, ends[-1], seal.mark(_build_seal_context(salt, "table"), table), len(stored)
    )
    write_atomic(path, b"".join((*stored, table, trailer)), mode=0o600)


def open_pieces(path: str, seal: CacheSeal) -> Pieces | None:
    """Open a file of pieces; None for other files. Only its table is read."""
    try:
        # A named pipe in its place would be waited for, were it not for O_NONBLOCK.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        found = _read_piece_table(fd, seal)
    except (OSError, layout_error):
        found = None
    if found is None:
        os.close(fd)
        return None
    salt, table = found
    return Pieces(path, fd, seal, salt, table)


def _read_piece_table(fd: int, seal: CacheSeal) -> tuple[bytes, bytes] | None:
    """Read the salt and the piece offsets. The last offset is the end of the pieces."""
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
    return (salt, table) if seal.mark(_build_seal_context(salt, "table"), table) == check else None


def _build_seal_context(salt: bytes, part: int | str) -> str:
    """Build the seal context of a part, so that no part of another file or position is accepted."""
    return f"{salt.hex()}:{part}"


def _discard(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return
