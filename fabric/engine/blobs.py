"""The content store: one file per distinct content, named by its digest, checked on every use."""

import os
from collections.abc import Iterator
from pathlib import Path

from fabric.model.hashing import digest_bytes
from fabric.model.names import Digest
from fabric.model.problems import FabricError
from fabric.system.disk import read_bytes, write_atomic


class Blobs:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    def put(self, content: bytes) -> Digest:
        """Keep content; what is there already is not written again."""
        digest = digest_bytes(content)
        if not self.has(digest, len(content)):
            write_atomic(self.path(digest), content, mode=0o600)
        return digest

    def has(self, digest: str, size: int) -> bool:
        try:
            return os.stat(f"{self._folder}/{digest[:2]}/{digest}").st_size == size  # noqa: PTH116
        except OSError:
            return False

    def get(self, digest: str) -> bytes | None:
        """The content, or None when it is gone or damaged; what is damaged is thrown away."""
        path = self.path(digest)
        try:
            content = read_bytes(path)
        except OSError:
            return None
        if digest_bytes(content) == digest:
            return content
        self.drop(digest)
        return None

    def drop(self, digest: str) -> None:
        try:
            self.path(digest).unlink(missing_ok=True)
        except OSError:
            return

    def all(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Every blob, with leftovers of killed writers among them."""
        for folder in sorted(self._folder.glob("??")):
            for path in sorted(folder.iterdir()):
                try:
                    yield path, path.stat()
                except OSError:
                    continue


def store_or_none(blobs: Blobs, content: bytes) -> Digest | None:
    """Keep content if the disk allows it: a cache that cannot be written is not a failure."""
    try:
        return blobs.put(content)
    except FabricError:
        return None
