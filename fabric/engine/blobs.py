"""The content store: what tasks made, by digest, and checked on every use.

Large contents are a file each; small ones are rows of the memo, because making a file costs more
than all the rest of a small task (ADR 0004).
"""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from fabric.engine.memo_door import Rows
from fabric.model.hashing import digest_bytes
from fabric.model.names import Digest
from fabric.system.disk import read_bytes, write_atomic

SMALL = 64 << 10
PREFIX = "b:"


class Blobs:
    def __init__(self, folder: Path, rows: Rows) -> None:
        self._folder = str(folder)
        self._rows = rows
        self._fresh: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def path(self, digest: str) -> str:
        return f"{self._folder}/{digest[:2]}/{digest}"

    def put(self, content: bytes) -> Digest:
        """Keep content; what is there already is not written again."""
        digest = digest_bytes(content)
        if len(content) <= SMALL:
            with self._lock:
                self._fresh[digest] = content
        elif not self._has_file(digest, len(content)):
            write_atomic(self.path(digest), content, mode=0o600)
        return digest

    def get(self, digest: str) -> bytes | None:
        """The content, or None when it is gone or damaged; what is damaged is thrown away."""
        content = self._fresh.get(digest)
        if content is not None:
            return content
        content = self._rows.get_bytes(PREFIX + digest)
        if content is None:
            content = self._read_file(digest)
        if content is None or digest_bytes(content) == digest:
            return content
        self.drop(digest)
        return None

    def flush(self) -> None:
        """Small contents become durable together. Call this before the records that name them."""
        with self._lock:
            fresh = dict(self._fresh)
        if fresh and self._rows.put_all(
            {PREFIX + digest: content for digest, content in fresh.items()}
        ):
            # Only now can they be read from there: what was not found would be made once more.
            with self._lock:
                for digest in fresh:
                    self._fresh.pop(digest, None)

    def drop(self, digest: str) -> None:
        self._rows.drop(PREFIX + digest)
        try:
            os.unlink(self.path(digest))  # noqa: PTH108
        except OSError:
            return

    def files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Every file of the store, with leftovers of killed writers among them."""
        for folder in sorted(Path(self._folder).glob("??")):
            for path in sorted(folder.iterdir()):
                try:
                    yield path, path.stat()
                except OSError:
                    continue

    def _has_file(self, digest: str, size: int) -> bool:
        try:
            return os.stat(self.path(digest)).st_size == size  # noqa: PTH116
        except OSError:
            return False

    def _read_file(self, digest: str) -> bytes | None:
        try:
            return read_bytes(self.path(digest))
        except OSError:
            return None
