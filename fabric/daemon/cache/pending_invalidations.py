"""Pending cache invalidations of stages, because their cache was unreachable.

A changed stage invalidates answers in every cache that this directory's daemons used. The file
lists caches by hash, one per line, with their pending stages, so that the next daemon knows them.
"""

import os
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from fabric.app.settings import STAGE_NAME
from fabric.model.problems import FabricError
from fabric.ownership import is_ours
from fabric.system.files.disk import read_bytes, remove, sweep, write_atomic

# Answers live for minutes: what so many other caches came after has none of ours any more.
MOST_CACHES = 16
_CACHE = re.compile("[0-9a-f]{16}")
_STAGE = re.compile(STAGE_NAME)


class PendingInvalidation(Struct, frozen=True):
    """A pending invalidation. Its number distinguishes a repeated one for the same stage."""

    stage: str
    number: int


class PendingInvalidations:
    """Thread-safe. `cache` is the hash of the current cache, empty for none.

    `tell` receives file errors. Only one process at a time uses the file.
    """

    def __init__(self, path: Path, tell: Callable[[str], None], cache: str = "") -> None:
        self._path, self._tell = path, tell
        self._lock = threading.Lock()
        self._number = 0
        sweep(path)
        self._written = self._read()
        self._kept = _sort_newest_last(self._parse_content(self._written), cache)
        self._own = self._kept.get(cache, set())
        self._owed = {stage: self._get_next_number() for stage in sorted(self._own)}
        self._write()

    @property
    def owed(self) -> tuple[PendingInvalidation, ...]:
        """To the cache that is used now."""
        with self._lock:
            return tuple(PendingInvalidation(*one) for one in sorted(self._owed.items()))

    def add(self, stage: str) -> PendingInvalidation:
        """Add a stage: for this cache during the attempt, for all others from now on."""
        with self._lock:
            self._owed[stage] = self._get_next_number()
            for stages in self._kept.values():
                if stages is not self._own:
                    stages.add(stage)
            self._write()
            return PendingInvalidation(stage, self._owed[stage])

    def keep(self, one: PendingInvalidation) -> None:
        """Store a failed invalidation, so that it outlives this process."""
        with self._lock:
            self._owed.setdefault(one.stage, one.number)
            self._own.add(one.stage)
            self._write()

    def keep_all(self, stages: Iterable[str]) -> None:
        """Store invalidations that no process attempted in any cache."""
        for stage in stages:
            self.keep(self.add(stage))

    def remove_completed(self, one: PendingInvalidation) -> None:
        """Remove a completed invalidation. Those added since it began stay."""
        with self._lock:
            if self._owed.get(one.stage) == one.number:
                del self._owed[one.stage]
                self._own.discard(one.stage)
                self._write()

    def _get_next_number(self) -> int:
        self._number += 1
        return self._number

    def _write(self) -> None:
        lines = [" ".join((cache, *sorted(stages))) for cache, stages in self._kept.items()]
        content = "".join(f"{line}\n" for line in lines).encode()
        if content == self._written:
            return
        try:
            if content:
                write_atomic(self._path, content, mode=0o600, durable=True)
            else:
                remove(self._path)
        except FabricError as error:
            self._tell(f"{error.first.message}: pending cache invalidations are lost when this "
                       "process stops")  # fmt: skip
        else:
            self._written = content

    def _read(self) -> bytes:
        if not os.path.lexists(self._path):
            return b""
        try:
            return self._encode_content()
        except OSError as error:
            why = error.strerror or str(error)
            self._tell(f"cannot read {self._path} ({why.lower()}): cached responses might be "
                       "older than the last deploy until they expire")  # fmt: skip
            return b""

    def _encode_content(self) -> bytes:
        if self._path.is_symlink() or not is_ours(str(self._path)):
            raise OSError(0, "owned or writable by another user")
        return read_bytes(self._path)

    def _parse_content(self, content: bytes) -> dict[str, set[str]]:
        """Parse the content. Damaged lines do not hide others."""
        lines = [line.split(" ") for line in content.decode(errors="replace").splitlines()]
        caches: dict[str, set[str]] = {}
        for cache, *stages in lines:
            if _CACHE.fullmatch(cache):
                found = caches.setdefault(cache, set())
                found.update(stage for stage in stages if _STAGE.fullmatch(stage))
        whole = sum(1 + len(stages) for stages in caches.values())
        if damaged := sum(map(len, lines)) - whole:
            self._tell(f"{self._path} is damaged: {damaged} invalid entries were ignored, all "
                       "others are cleared")  # fmt: skip
        return caches


def _sort_newest_last(caches: dict[str, set[str]], own: str) -> dict[str, set[str]]:
    if not own:
        return caches
    others = [(cache, stages) for cache, stages in caches.items() if cache != own]
    return {**dict(others[1 - MOST_CACHES :]), own: caches.get(own, set())}
