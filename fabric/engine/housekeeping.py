"""The cache as a whole: how much it holds, whether it is sound, what may go."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fabric.engine.blobs import PREFIX, Blobs
from fabric.engine.memo import Memo
from fabric.engine.memo_door import NoMemo


@dataclass(frozen=True, slots=True)
class Blob:
    """`used` is when it was last read or written, in seconds since 1970."""

    digest: str
    size: int
    used: float


class Housekeeping:
    """Opens a cache for looking after; a cache that is not there is an empty one."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self._memo: Memo | NoMemo = Memo(folder / "memo") if folder.is_dir() else NoMemo()
        self._blobs = Blobs(folder / "blobs", self._memo)

    def records(self) -> int:
        return len(self._memo.get_range("t:"))

    def blobs(self) -> Iterator[Blob]:
        for key, length, used in self._memo.sizes(PREFIX):
            yield Blob(key.removeprefix(PREFIX), length, used)
        for path, found in self._blobs.files():
            yield Blob(path.name, found.st_size, max(found.st_atime, found.st_mtime))

    def is_sound(self, digest: str) -> bool:
        """Reads it whole; a damaged one is dropped by the reading."""
        if self._blobs.get(digest) is not None:
            return True
        self._blobs.drop(digest)
        return False

    def drop(self, digest: str) -> None:
        self._blobs.drop(digest)

    def close(self) -> None:
        self._memo.close()


@dataclass(frozen=True, slots=True)
class Pruned:
    removed: int
    freed: int
    kept: int


def prune(house: Housekeeping, *, keep_bytes: int, oldest: float) -> Pruned:
    """Drop the blobs unused for longest until the rest is within the limits."""
    removed = freed = kept = 0
    for one in sorted(house.blobs(), key=lambda blob: blob.used, reverse=True):
        if one.used >= oldest and kept + one.size <= keep_bytes:
            kept += one.size
            continue
        house.drop(one.digest)
        removed, freed = removed + 1, freed + one.size
    return Pruned(removed, freed, kept)
