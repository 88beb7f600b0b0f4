"""The memo's interface, with a lazily opened and an empty variant."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from fabric.cache_seal import CacheSeal
from fabric.model.problems import Problem

# A new file with every batch: its stat tells whether anything was remembered since.
STAMP = "stamp"
# Beside it: what was learnt of a shared cache.
SHARED = "shared"
KEYS = "SELECT key FROM Cache"
SIZES = "SELECT key, length(value), store_time FROM Cache WHERE key >= ? AND key < ?"


def compute_key_range(prefix: str) -> tuple[str, str]:
    """Compute the key range of a prefix: its first key, and the first key after it."""
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


class SealedPath(Struct, frozen=True):
    """A path in a cache, and the seal that its content must carry."""

    path: Path
    seal: CacheSeal


class Memo(Protocol):
    """A key-value memo. `failure` explains rows that were not stored."""

    @property
    def failure(self) -> Problem | None: ...
    def get_bytes(self, key: str) -> bytes | None: ...
    def get_range(self, prefix: str) -> dict[str, bytes]: ...
    def put_all(self, rows: Mapping[str, bytes]) -> bool: ...
    def drop(self, key: str) -> None: ...
    def close(self) -> None: ...


class LazyMemo:
    """A memo that is opened on first use."""

    def __init__(self, opened: Callable[[], Memo]) -> None:
        self._open = opened
        self._memo: Memo | None = None
        self._lock = threading.Lock()

    @property
    def failure(self) -> Problem | None:
        return self._memo.failure if self._memo else None

    @property
    def _opened(self) -> Memo:
        with self._lock:
            if self._memo is None:
                self._memo = self._open()
            return self._memo

    def get_bytes(self, key: str) -> bytes | None:
        return self._opened.get_bytes(key)

    def get_range(self, prefix: str) -> dict[str, bytes]:
        return self._opened.get_range(prefix)

    def put_all(self, rows: Mapping[str, bytes]) -> bool:
        return self._opened.put_all(rows)

    def drop(self, key: str) -> None:
        self._opened.drop(key)

    def close(self) -> None:
        if self._memo is not None:
            self._memo.close()


class NoMemo:
    """An empty memo, for a workspace without a memo."""

    failure: Problem | None = None

    def get_bytes(self, key: str) -> bytes | None:
        del key
        return None

    def get_range(self, prefix: str) -> dict[str, bytes]:
        del prefix
        return {}

    def sizes(self, prefix: str) -> list[tuple[str, int, float]]:
        del prefix
        return []

    def keys(self) -> list[str]:
        return []

    def is_sound(self, key: str) -> bool:
        del key
        return True

    def put_all(self, rows: Mapping[str, bytes]) -> bool:
        return not rows

    def drop(self, key: str) -> None:
        del key

    def close(self) -> None:
        return
