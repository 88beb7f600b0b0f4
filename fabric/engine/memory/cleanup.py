"""Maintenance of the whole cache: size, verification and cleanup."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fabric import manifest
from fabric.engine.memory.blobs import PREFIX, Blobs
from fabric.engine.memory.disk_memo import DiskMemo
from fabric.engine.memory.memo import SHARED, STAMP, NoMemo, SealedPath
from fabric.engine.memory.pieces import SUFFIX, open_pieces
from fabric.engine.memory.read_only_memo import ReadOnlyMemo
from fabric.model.hashing import is_digest
from fabric.model.problems import FabricError
from fabric.runtimes.commands.build_caches import KeptFolder, delete_kept_folder, list_kept_folders
from fabric.system.files.disk import read_bytes, write_atomic

_INDEXES = "files-*.bin"
_KEPT = re.compile(r"[0-9a-f]{16}\.bin(\.warm|\.pieces|\.graph)?")


class Blob(Struct, frozen=True):
    """`used` is when it was last read or written, in seconds since 1970."""

    digest: str
    size: int
    used: float
    in_file: bool = False


class Housekeeping:
    """Opens a cache for maintenance. A missing cache counts as empty."""

    def __init__(self, cache: SealedPath) -> None:
        self.folder = str(cache.path)
        self._cache = cache
        self._memo = _open_memo(cache)
        self._is_changed = False
        self._blobs = Blobs(cache.path / "blobs", self._memo)

    def records(self) -> int:
        return len(self._memo.get_range("t:"))

    def blobs(self) -> Iterator[Blob]:
        for key, length, used in self._memo.sizes(PREFIX):
            yield Blob(key.removeprefix(PREFIX), length, used)
        for path, found in self._blobs.files():
            used = max(found.st_atime, found.st_mtime)
            yield Blob(path.name, found.st_size, used, in_file=True)

    def verify(self) -> "Verified":
        """Read everything and delete damaged entries. They are rebuilt when needed."""
        looks = [
            *map(self._delete_row, self._memo.keys()),
            *(self._delete_blob(path) for path, _ in self._blobs.files()),
        ]
        looks += map(self._is_sound_file, sorted(Path(self.folder).glob(_INDEXES)))
        kept = sorted(Path(self.folder, manifest.FOLDER).glob("*"))
        looks += map(self._is_sound_file, filter(_is_kept, kept))
        self._is_changed = self._is_changed or False in looks
        return Verified(len(looks), looks.count(False))

    def _delete_row(self, key: str) -> bool:
        if not key.startswith(PREFIX):
            return self._memo.is_sound(key)
        return self._is_blob(key.removeprefix(PREFIX))

    def _delete_blob(self, path: Path) -> bool:
        if is_digest(path.name):
            return self._is_blob(path.name)
        return _delete_file(path)  # what a killed writer left

    def _is_blob(self, digest: str) -> bool:
        if self._blobs.get(digest) is not None:
            return True
        self._blobs.drop(digest)
        return False

    def _is_sound_file(self, path: Path) -> bool:
        """Verify stored answers, the files beside them, and the file index."""
        if path.suffix == SUFFIX:
            pieces = open_pieces(str(path), self._cache.seal)
            return pieces.is_sound if pieces else _delete_file(path)
        try:
            content = read_bytes(path)
        except OSError:
            return _delete_file(path)
        is_answer = path.suffix == ".bin" and path.parent.name == manifest.FOLDER
        found = self._cache.seal.unseal(path.name, content)
        is_sound = found is not None and not (is_answer and manifest.unpack(found) is None)
        return is_sound or _delete_file(path)

    def drop(self, digest: str) -> None:
        self._is_changed = True
        self._blobs.drop(digest)

    def reopen(self) -> None:
        """Reopen the database for writing after space was freed.

        If this fails, existing entries are not reported as deleted.
        """
        if self._memo.failure:
            self._memo = _open_memo(self._cache)
            self._blobs = Blobs(Path(self.folder) / "blobs", self._memo)
        if self._memo.failure:
            raise FabricError(self._memo.failure)

    def close(self) -> None:
        """Close, and delete stored plans, because they depend on the cache content."""
        self._memo.close()
        if self._is_changed:
            with contextlib.suppress(FabricError):
                write_atomic(Path(self.folder) / "memo" / STAMP, b"", mode=0o600)


def _open_memo(cache: SealedPath) -> DiskMemo | NoMemo:
    """Open the memo, read-only if the disk is full."""
    if not cache.path.is_dir():
        return NoMemo()
    try:
        return DiskMemo(cache.path / "memo", cache.seal)
    except FabricError as error:
        return ReadOnlyMemo(cache.path / "memo", cache.seal, error.first)


def make_room(folder: Path) -> int:
    """Empty a cache on a full disk. Returns the freed bytes.

    Only fabric's own files are deleted.
    """
    blobs = (path for path, _ in Blobs(folder / "blobs", NoMemo()).files())
    memo = (path for path in (folder / "memo").glob("cache.db*") if path.is_file())
    kept = (path for path in (folder / manifest.FOLDER).glob("*") if _is_kept(path))
    learnt = (path for path in (folder / SHARED).glob("*") if is_digest(path.name))
    freed = sum(one.size for one in list_kept_folders(folder) if delete_kept_folder(one))
    files = (*blobs, *memo, *kept, *learnt, *folder.glob(_INDEXES))
    return freed + sum(map(_delete_contents, files))


def _is_kept(path: Path) -> bool:
    """Return whether a file is a stored answer or belongs to one."""
    return _KEPT.fullmatch(path.name) is not None


def _delete_contents(path: Path) -> int:
    try:
        size = path.stat().st_size
        path.unlink()
    except OSError:
        return 0
    return size


class Verified(Struct, frozen=True):
    """The number of verified entries and of damaged ones."""

    checked: int
    removed: int


def _delete_file(path: Path) -> bool:
    with contextlib.suppress(OSError):
        path.unlink()
    return False


class Pruned(Struct, frozen=True):
    removed: int
    freed: int
    kept: int


def prune(house: Housekeeping, *, keep_bytes: int, oldest: float) -> Pruned:
    """Drop the blobs and kept directories unused for longest until the rest is within the
    limits."""
    kept = 0
    dropped: list[Blob] = []
    folders: list[KeptFolder] = []
    entries: tuple[Blob | KeptFolder, ...] = (
        *house.blobs(),
        *list_kept_folders(Path(house.folder)),
    )
    for one in sorted(entries, key=lambda entry: entry.used, reverse=True):
        if one.used >= oldest and kept + one.size <= keep_bytes:
            kept += one.size
        elif isinstance(one, Blob):
            dropped.append(one)
        else:
            folders.append(one)
    deleted = [one for one in folders if delete_kept_folder(one)]
    kept += sum(one.size for one in folders if one not in deleted)
    # Files first: on a full disk there is room for changes of the database only after that.
    for one in sorted(dropped, key=lambda blob: blob.in_file, reverse=True):
        if not one.in_file:
            house.reopen()
        house.drop(one.digest)
    freed = sum(one.size for one in dropped) + sum(one.size for one in deleted)
    return Pruned(len(dropped) + len(deleted), freed, kept)
