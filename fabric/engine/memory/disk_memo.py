"""The one door to diskcache: text keys to plain bytes, and never a pickled row, in or out."""

import contextlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import diskcache

from fabric.engine.memory.memo import KEYS, SIZES, STAMP, span_of
from fabric.model.hashing import sealed, unsealed
from fabric.model.problems import FabricError, Problem
from fabric.system.disk import is_strange, make_folder, make_private_file, write_atomic
from fabric.system.file_systems import is_network

_RAW = 1  # diskcache's MODE_RAW
_PICKLED = 4  # diskcache's MODE_PICKLE
_DAMAGED = b""
_FILES = ("cache.db", "cache.db-wal", "cache.db-shm")
# What diskcache raises on rows, settings and tables that it did not write.
_NONSENSE = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
_ANY_ERROR = (sqlite3.Error, OSError, diskcache.Timeout, FabricError, *_NONSENSE)
# What SQLite says of the disk and of other users, and not of the database itself.
_OF_SURROUNDINGS = frozenset(
    (
        sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM,
    )
)  # fmt: skip


class _PlainDisk(diskcache.Disk):  # type: ignore[misc]
    """Rows are bytes. A planted pickled row would run code on load, so it is refused both ways."""

    def store(self, value: object, read: object, key: object = diskcache.UNKNOWN) -> object:
        if not isinstance(value, bytes):
            raise TypeError("the memo keeps bytes only")
        return super().store(value, read, key=key)

    def fetch(self, mode: int, filename: object, value: object, read: object) -> object:
        if mode == _PICKLED:
            raise ValueError("a pickled row does not belong in the memo")
        return super().fetch(mode, filename, value, read)

    def put(self, key: object) -> object:
        if not isinstance(key, str):
            raise TypeError("memo keys are text")
        return super().put(key)

    def get(self, key: object, raw: object) -> object:
        if not raw:
            raise ValueError("a pickled key does not belong in the memo")
        return super().get(key, raw)


class DiskMemo:
    """Bytes by key. A damaged row is a miss, a damaged database is put aside for a new one."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder, 0o700)
        self._folder = folder
        self._cache = _open(folder)
        self.failure: Problem | None = None

    def get_bytes(self, key: str) -> bytes | None:
        """The row, or None; a row that may not be read is a miss and goes away."""
        try:
            found = self._cache.get(key)
        except _NONSENSE:
            found = _DAMAGED
        except (sqlite3.Error, OSError, diskcache.Timeout):
            return None
        content = unsealed(key, found)
        if content is None and found is not None:
            self.drop(key)
        return content

    def get_range(self, prefix: str) -> dict[str, bytes]:
        """All rows of a prefix in one query: a tenth of the cost of asking one by one."""
        query = "SELECT key, value FROM Cache WHERE raw = 1 AND mode = ? AND key >= ? AND key < ?"
        rows = self._select(query, (_RAW, *span_of(prefix)))
        found = {key: unsealed(key, value) for key, value in rows}
        return {key: content for key, content in found.items() if content is not None}

    def sizes(self, prefix: str) -> list[tuple[str, int, float]]:
        """Key, length and time of writing of all rows of a prefix."""
        rows = self._select(SIZES, span_of(prefix))
        return [(str(key), int(length or 0), float(when or 0)) for key, length, when in rows]

    def keys(self) -> list[str]:
        return [key for (key,) in self._select(KEYS, ()) if isinstance(key, str)]

    def is_sound(self, key: str) -> bool:
        """Reads a row; one that is damaged is dropped by the reading."""
        return self.get_bytes(key) is not None

    def _select(self, query: str, values: tuple[object, ...]) -> list[Any]:
        try:
            with contextlib.closing(sqlite3.connect(self._folder / "cache.db")) as database:
                return database.execute(query, values).fetchall()
        except sqlite3.Error:
            return []

    def put_all(self, rows: Mapping[str, bytes]) -> bool:
        """Write a batch in one transaction; False, and a `failure`, when it cannot be written."""
        try:
            self._put(rows)
        except _ANY_ERROR as error:
            return self._begun_anew(rows) if _is_damage(error) else self._failed(error)
        return True

    def _put(self, rows: Mapping[str, bytes]) -> None:
        with self._cache.transact(retry=True):
            for key, content in rows.items():
                self._cache.set(key, sealed(key, content))
        write_atomic(self._folder / STAMP, b"", mode=0o600)

    def _begun_anew(self, rows: Mapping[str, bytes]) -> bool:
        """The database turned out to be damaged: what it held is lost, and this is kept."""
        self.close()
        _put_aside(self._folder)
        try:
            self._cache = _connect(self._folder)
            self._put(rows)
        except _ANY_ERROR as error:
            return self._failed(error)
        return True

    def _failed(self, error: Exception) -> bool:
        self.failure = _unusable(self._folder, error).first
        return False

    def drop(self, key: str) -> None:
        with contextlib.suppress(*_ANY_ERROR):
            self._cache.delete(key)

    def close(self) -> None:
        with contextlib.suppress(*_ANY_ERROR):
            self._cache.close()


def _open(folder: Path) -> diskcache.Cache:
    if any(is_strange(folder / name) for name in _FILES):
        _put_aside(folder)
    try:
        return _connect(folder)
    except _ANY_ERROR as error:
        if not _is_damage(error):
            raise _unusable(folder, error) from error
    _put_aside(folder)
    try:
        return _connect(folder)
    except _ANY_ERROR as error:
        raise _unusable(folder, error) from error


def _is_damage(error: Exception) -> bool:
    """Whether the database is no good, and not the disk or somebody who uses it just now."""
    if isinstance(error, sqlite3.Error):
        # Longer codes say more in their upper bytes.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF not in _OF_SURROUNDINGS
    return isinstance(error, _NONSENSE)


def _connect(folder: Path) -> diskcache.Cache:
    # What SQLite puts beside the database gets its mode; it would be of the user's umask else.
    make_private_file(folder / "cache.db")
    return diskcache.Cache(
        str(folder),
        disk=_PlainDisk,
        disk_min_file_size=1 << 30,
        eviction_policy="none",
        cull_limit=0,
        size_limit=1 << 40,
        statistics=0,
        # The memo can be made again: after a power cut a lost record is a miss.
        sqlite_synchronous=0,
        sqlite_journal_mode="truncate" if is_network(folder) else "wal",
        timeout=10,
    )


def _put_aside(folder: Path) -> None:
    for name in _FILES:
        with contextlib.suppress(OSError):
            (folder / name).replace(folder / f"{name}.damaged")


def _unusable(folder: Path, error: Exception) -> FabricError:
    return FabricError(
        Problem(
            "disk/cache-unusable",
            f"the cache `{folder}` cannot be written, so the next run remembers less: {error}",
            hint="make room or check its owner and mode, or choose another with FABRIC_CACHE_DIR",
        )
    )
