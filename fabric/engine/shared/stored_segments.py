"""Local copies of shared cache metadata, so that a known commit is not queried again.

Files contain the fetched objects, and are verified like those on each read.
"""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, Encoder

from fabric.engine.memory.memo import SHARED
from fabric.model.hashing import is_digest
from fabric.model.names import Digest
from fabric.model.problems import FabricError
from fabric.system.files.disk import make_folder, read_bytes, write_atomic

_ASKED = "asked"
# What was found for a commit is good for so long, and that nobody answered for so long.
FOUND_SECONDS = 3600
FAILED_SECONDS = 300


class LastQuery(Struct, frozen=True):
    """The last query: the commit, the cache and the result."""

    cache: str
    commit: str
    at: int
    ok: bool
    segments: tuple[Digest, ...] = ()

    def holds(self, cache: str, commit: str, now: int) -> bool:
        limit = FOUND_SECONDS if self.ok else FAILED_SECONDS
        return (self.cache, self.commit) == (cache, commit) and 0 <= now - self.at < limit


class StoredSegments:
    """Stored segments. Without a directory nothing is stored. I/O failures only cost a query."""

    def __init__(self, cache: Path | None) -> None:
        self._folder = cache / SHARED if cache else None

    def read_last_query(self) -> LastQuery | None:
        content = self._read(_ASKED)
        if content is None:
            return None
        try:
            found = Decoder(LastQuery).decode(content)
        except (DecodeError, ValidationError, ValueError):
            return None
        return found if all(map(is_digest, found.segments)) else None

    def remember(self, asked: LastQuery) -> None:
        """Store the result of a query, and delete segments that do not belong to it."""
        self._write(_ASKED, Encoder().encode(asked))
        self._sweep(asked.segments)

    def segment(self, name: Digest) -> bytes | None:
        return self._read(name)

    def keep(self, name: Digest, stored: bytes) -> None:
        self._write(name, stored)

    def _read(self, name: str) -> bytes | None:
        if self._folder is None:
            return None
        try:
            return read_bytes(self._folder / name)
        except OSError:
            return None

    def _write(self, name: str, content: bytes) -> None:
        if self._folder is None or not self._folder.parent.is_dir():
            return
        with contextlib.suppress(FabricError, OSError):
            make_folder(self._folder, 0o700)
            write_atomic(self._folder / name, content, mode=0o600)

    def _sweep(self, keep: Iterable[Digest]) -> None:
        if self._folder is None or not self._folder.is_dir() or self._folder.is_symlink():
            return
        names = {*keep, _ASKED}
        for path in self._folder.iterdir():
            if path.name not in names and is_digest(path.name):
                with contextlib.suppress(OSError):
                    path.unlink()
