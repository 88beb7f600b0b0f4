"""The one door to diskcache: text keys to JSON bytes, and never a pickled row, in or out."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import diskcache

from fabric.model.problems import FabricError, Problem
from fabric.system.disk import make_folder

_PICKLED = 4  # diskcache's MODE_PICKLE


class _PlainDisk(diskcache.Disk):  # type: ignore[misc]
    """Rows are bytes. A planted pickled row would run code on load, so it is refused both ways."""

    def store(self, value: Any, read: Any, key: Any = diskcache.UNKNOWN) -> Any:
        if not isinstance(value, bytes):
            raise TypeError("the memo keeps bytes only")
        return super().store(value, read, key=key)

    def fetch(self, mode: int, filename: Any, value: Any, read: Any) -> Any:
        if mode == _PICKLED:
            raise ValueError("a pickled row does not belong in the memo")
        return super().fetch(mode, filename, value, read)

    def put(self, key: Any) -> Any:
        if not isinstance(key, str):
            raise TypeError("memo keys are text")
        return super().put(key)

    def get(self, key: Any, raw: Any) -> Any:
        if not raw:
            raise ValueError("a pickled key does not belong in the memo")
        return super().get(key, raw)


class Memo:
    """Small JSON records by key. A damaged database is put aside and a new one begun."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder, 0o700)
        self._cache = _open(folder)

    def get(self, key: str) -> Any:
        """The record, or None; a row that cannot be read is a miss and goes away."""
        try:
            raw = self._cache.get(key)
            return None if raw is None else json.loads(raw)
        except (ValueError, TypeError):
            with contextlib.suppress(Exception):
                self._cache.delete(key)
            return None
        except (sqlite3.Error, OSError):
            return None

    def put_all(self, records: Mapping[str, Any]) -> bool:
        """Write a batch in one transaction; False when the disk does not let us."""
        try:
            with self._cache.transact(retry=True):
                for key, record in records.items():
                    self._cache.set(key, json.dumps(record, separators=(",", ":")).encode())
        except (sqlite3.Error, OSError, diskcache.Timeout):
            return False
        return True

    def drop(self, key: str) -> None:
        with contextlib.suppress(sqlite3.Error, OSError):
            self._cache.delete(key)

    def keys(self) -> Iterator[str]:
        yield from self._cache.iterkeys()

    def __len__(self) -> int:
        return len(self._cache)

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error, OSError):
            self._cache.close()


class NoMemo:
    """Remembers nothing: for a look at a workspace that has no memo yet."""

    def get(self, key: str) -> Any:
        del key

    def put_all(self, records: Mapping[str, Any]) -> bool:
        return not records

    def drop(self, key: str) -> None:
        del key

    def close(self) -> None:
        return


class Records(Protocol):
    """What the ledger needs of a memo."""

    def get(self, key: str) -> Any: ...
    def put_all(self, records: Mapping[str, Any]) -> bool: ...
    def drop(self, key: str) -> None: ...
    def close(self) -> None: ...


def _open(folder: Path) -> Any:
    try:
        return _connect(folder)
    except (sqlite3.DatabaseError, ValueError, TypeError):
        _put_aside(folder)
    except (sqlite3.Error, OSError, diskcache.Timeout) as error:
        raise _unusable(folder, error) from error
    try:
        return _connect(folder)
    except (sqlite3.Error, OSError) as error:
        raise _unusable(folder, error) from error


def _connect(folder: Path) -> Any:
    cache = diskcache.Cache(
        str(folder),
        disk=_PlainDisk,
        disk_min_file_size=1 << 30,
        eviction_policy="none",
        cull_limit=0,
        size_limit=1 << 40,
        statistics=0,
        # The memo can be made again: after a power cut a lost record is a miss.
        sqlite_synchronous=0,
        timeout=10,
    )
    len(cache)
    return cache


def _put_aside(folder: Path) -> None:
    for name in ("cache.db", "cache.db-wal", "cache.db-shm"):
        with contextlib.suppress(OSError):
            (folder / name).replace(folder / f"{name}.damaged")


def _unusable(folder: Path, error: Exception) -> FabricError:
    return FabricError(
        Problem(
            "disk/cache-unusable",
            f"the cache folder `{folder}` cannot be used: {error}",
            hint="check its owner and mode, or choose another with FABRIC_CACHE_DIR",
        )
    )
