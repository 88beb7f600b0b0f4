"""The content store: task outputs by hash, verified on every use.

Large contents are files; small ones are rows of the memo, because creating a file costs more than a
small task (ADR 0004).
"""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from fabric.engine.memory.memo import Memo
from fabric.model.hashing import hash_bytes, is_digest
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Problem
from fabric.system.files.disk import read_bytes, write_atomic

SMALL = 64 << 10
PREFIX = "b:"


class Elsewhere(Protocol):
    """Contents that other machines made, under their digests."""

    def has(self, digest: Digest, size: int) -> bool: ...
    def content(self, digest: Digest) -> bytes | None: ...


class Blobs:
    """A content store. Without a directory, contents are in memory for this run only.

    Missing contents can come from `elsewhere` and are then stored here.
    """

    def __init__(self, folder: Path | None, rows: Memo, elsewhere: Elsewhere | None = None) -> None:
        self._elsewhere = elsewhere
        self._folder = str(folder or "")
        self.failure: Problem | None = None
        self._rows = rows
        self._fresh: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def path(self, digest: str) -> str:
        return f"{self._folder}/{digest[:2]}/{digest}"

    def put(self, content: bytes) -> Digest:
        """Store content. Existing content is not written again."""
        digest = hash_bytes(content)
        if len(content) <= SMALL or not self._folder:
            self._hold(digest, content)
        elif not self._has_file(digest, len(content)):
            self._write(digest, content)
        return digest

    def _hold(self, digest: str, content: bytes) -> None:
        with self._lock:
            self._fresh[digest] = content

    def _write(self, digest: str, content: bytes) -> None:
        """Write a file. On a full disk the run continues, and the next run rebuilds the content."""
        try:
            write_atomic(self.path(digest), content, mode=0o600)
        except FabricError as error:
            self.failure = error.first
            self._hold(digest, content)

    def get(self, digest: str) -> bytes | None:
        """Return the content, or None if it is missing or damaged."""
        content = self.here(digest)
        if content is not None or self._elsewhere is None:
            return content
        content = self._elsewhere.content(Digest(digest))
        if content is None or self.put(content) != digest:
            return None
        return content

    def here(self, digest: str) -> bytes | None:
        """Return the local content. Damaged content is deleted."""
        content = self._fresh.get(digest)
        if content is not None:
            return content
        content = self._rows.get_bytes(PREFIX + digest)
        if content is None:
            content = self._read_file(digest)
        if content is None or hash_bytes(content) == digest:
            return content
        self.drop(digest)
        return None

    def flush(self) -> None:
        """Small contents become durable together. Call this before the records that name them."""
        with self._lock:
            fresh = {one: content for one, content in self._fresh.items() if len(content) <= SMALL}
        if fresh and self._rows.put_all(
            {PREFIX + digest: content for digest, content in fresh.items()}
        ):
            # Only now can they be read from there: what was not found would be made once more.
            with self._lock:
                for digest in fresh:
                    self._fresh.pop(digest, None)

    def drop(self, digest: str) -> None:
        self._rows.drop(PREFIX + digest)
        if not (self._folder and is_digest(digest)):
            return
        try:
            os.unlink(self.path(digest))  # noqa: PTH108
        except OSError:
            return

    def files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Every file of the store, with leftovers of killed writers among them."""
        if not self._folder:
            return
        for folder in sorted(Path(self._folder).glob("[0-9a-f][0-9a-f]")):
            for path in sorted(filter(_is_own, folder.iterdir())):
                try:
                    yield path, path.stat()
                except OSError:
                    continue

    def has(self, digest: str, size: int) -> bool:
        """Return whether content is available. Its bytes are verified when read."""
        if digest in self._fresh:
            return True
        # What others have is known without a look at any disk.
        if self._elsewhere is not None and self._elsewhere.has(Digest(digest), size):
            return True
        return self._has_file(digest, size) or self.here(digest) is not None

    def _has_file(self, digest: str, size: int) -> bool:
        try:
            return os.stat(self.path(digest)).st_size == size  # noqa: PTH116
        except OSError:
            return False

    def _read_file(self, digest: str) -> bytes | None:
        if not (self._folder and is_digest(digest)):
            return None
        try:
            return read_bytes(self.path(digest))
        except OSError:
            return None


def _is_own(path: Path) -> bool:
    """Return whether a file is content by its hash name, or left by a killed writer."""
    unfinished = path.name.startswith(".") and path.name.endswith(".tmp")
    return is_digest(path.name) or unfinished
