"""The memo on disk: text keys to bytes, in a database with diskcache's format.

Rows are read and written with SQL. diskcache only creates databases, because its import is slow and
its formats load pickles. Pickle rows are never read.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fabric.cache_seal import CacheSeal
from fabric.engine.memory.memo import KEYS, SIZES, STAMP, compute_key_range
from fabric.model.problems import FabricError, Problem
from fabric.system.files.disk import is_strange, make_folder, make_private_file, write_atomic
from fabric.system.files.file_systems import is_network

_DAMAGED = b""
_RAW = 1  # diskcache's MODE_RAW
_FILES = ("cache.db", "cache.db-wal", "cache.db-shm")
_WAIT_S = 10
# How often, and how long each time, one who wants to write waits for others: a minute in all.
_LOOKS, _LOOK_MS = 300, 200
# What SQLite raises, and Python of values in rows that were not written here.
_ANY_ERROR = (sqlite3.Error, OSError, FabricError, ValueError, TypeError)
# What SQLite says of the disk and of other users, and not of the database itself.
_OF_SURROUNDINGS = frozenset(
    (
        sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM,
    )
)  # fmt: skip

_ONE = "SELECT mode, value FROM Cache WHERE raw = 1 AND key = ?"
_RANGE = "SELECT key, value FROM Cache WHERE raw = 1 AND mode = 1 AND key >= ? AND key < ?"
_IS_THERE = "SELECT 1 FROM sqlite_master WHERE name = 'Cache_key_raw'"
_DROP = "DELETE FROM Cache WHERE raw = 1 AND key = ?"
# All columns, as diskcache fills them: it may read this, too.
_PUT = """
INSERT INTO Cache (key, raw, store_time, access_time, access_count, size, mode, value)
SELECT ?1, 1, now, now, 0, 0, 1, ?2
FROM (SELECT (julianday('now') - 2440587.5) * 86400.0 AS now) WHERE true
ON CONFLICT (key, raw) DO UPDATE SET
    store_time = excluded.store_time, expire_time = NULL, access_time = excluded.access_time,
    access_count = 0, tag = NULL, size = 0, mode = 1, filename = NULL, value = excluded.value
"""


class DiskMemo:
    """Bytes by key. A damaged row is a miss, a damaged database is put aside for a new one."""

    def __init__(self, folder: Path, seal: CacheSeal) -> None:
        make_folder(folder, 0o700)
        self._folder = folder
        self._seal = seal
        # One connection for all threads, one at a time.
        self._lock = threading.Lock()
        self._database = _open(folder)
        self.failure: Problem | None = None

    def get_bytes(self, key: str) -> bytes | None:
        """Return the row, or None. An invalid row is a cache miss and is deleted."""
        rows = self._select(_ONE, (key,))
        if not rows:
            return None
        mode, value = rows[0]
        content = self._seal.unseal(key, value if mode == _RAW else _DAMAGED)
        if content is None:
            self.drop(key)
        return content

    def get_range(self, prefix: str) -> dict[str, bytes]:
        """Return all rows of a prefix with one query, which is ten times faster than single
        reads."""
        rows = self._select(_RANGE, compute_key_range(prefix))
        found = {key: self._seal.unseal(key, value) for key, value in rows}
        return {key: content for key, content in found.items() if content is not None}

    def sizes(self, prefix: str) -> list[tuple[str, int, float]]:
        """Key, length and time of writing of all rows of a prefix."""
        rows = self._select(SIZES, compute_key_range(prefix))
        return [(str(key), int(length or 0), float(when or 0)) for key, length, when in rows]

    def keys(self) -> list[str]:
        return [key for (key,) in self._select(KEYS, ()) if isinstance(key, str)]

    def is_sound(self, key: str) -> bool:
        """Read a row and delete it if damaged. Returns whether it is valid."""
        return self.get_bytes(key) is not None

    def _select(self, query: str, values: tuple[object, ...]) -> list[Any]:
        try:
            with self._lock:
                return self._database.execute(query, values).fetchall()
        except _ANY_ERROR:
            return []

    def put_all(self, rows: Mapping[str, bytes]) -> bool:
        """Write a batch in one transaction. On failure returns False and sets `failure`."""
        try:
            self._put(rows)
        except _ANY_ERROR as error:
            return self._recreate_database(rows) if _is_damage(error) else self._handle_error(error)
        return True

    def _put(self, rows: Mapping[str, bytes]) -> None:
        values = [(key, self._seal.seal(key, content)) for key, content in rows.items()]
        with self._lock:
            _begin(self._database)
            # Committed if all went well, else taken back.
            with self._database:
                self._database.executemany(_PUT, values)
        write_atomic(self._folder / STAMP, b"", mode=0o600)

    def _recreate_database(self, rows: Mapping[str, bytes]) -> bool:
        """Recreate a damaged database with these rows. Its old content is lost."""
        self.close()
        _put_aside(self._folder)
        try:
            self._database = _connect(self._folder)
            self._put(rows)
        except _ANY_ERROR as error:
            return self._handle_error(error)
        return True

    def _handle_error(self, error: Exception) -> bool:
        self.failure = _unusable_memo_error(self._folder, error).first
        return False

    def drop(self, key: str) -> None:
        with contextlib.suppress(*_ANY_ERROR), self._lock:
            self._database.execute(_DROP, (key,))

    def close(self) -> None:
        with contextlib.suppress(*_ANY_ERROR), self._lock:
            self._database.close()


def _begin(database: sqlite3.Connection) -> None:
    """Begin a transaction, waiting for other writers up to a limit.

    The wait is split into short ones, so that a stop request is noticed.
    """
    database.execute(f"PRAGMA busy_timeout = {_LOOK_MS}")
    try:
        for left in reversed(range(_LOOKS)):
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not left or getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
            else:
                return
    finally:
        database.execute(f"PRAGMA busy_timeout = {_WAIT_S * 1000}")


def _open(folder: Path) -> sqlite3.Connection:
    if any(is_strange(folder / name) for name in _FILES):
        _put_aside(folder)
    try:
        return _connect(folder)
    except _ANY_ERROR as error:
        if not _is_damage(error):
            raise _unusable_memo_error(folder, error) from error
    _put_aside(folder)
    try:
        return _connect(folder)
    except _ANY_ERROR as error:
        raise _unusable_memo_error(folder, error) from error


def _is_damage(error: Exception) -> bool:
    """Return whether the database is damaged, as opposed to a disk or locking error."""
    if isinstance(error, sqlite3.ProgrammingError):
        return False  # of how it is used, after its end for one
    if isinstance(error, sqlite3.Error):
        # Longer codes say more in their upper bytes.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF not in _OF_SURROUNDINGS
    return isinstance(error, ValueError | TypeError)


def _connect(folder: Path) -> sqlite3.Connection:
    path = folder / "cache.db"
    # What SQLite puts beside the database gets its mode; it would be of the user's umask else.
    make_private_file(path)
    journal = "truncate" if is_network(folder) else "wal"
    if not path.stat().st_size:
        _make_database(folder, journal)
    database = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        database.execute(f"PRAGMA journal_mode = {journal}")
        # The memo can be made again: after a power cut a lost record is a miss.
        database.execute("PRAGMA synchronous = 0")
        if not database.execute(_IS_THERE).fetchall():
            # Another process makes it just now: both do the same.
            _make_database(folder, journal)
        database.execute(_ONE, ("",)).fetchall()
    except BaseException:
        database.close()
        raise
    return database


def _make_database(folder: Path, journal: str) -> None:
    import diskcache

    diskcache.Cache(
        str(folder),
        disk_min_file_size=1 << 30,
        eviction_policy="none",
        cull_limit=0,
        size_limit=1 << 40,
        statistics=0,
        sqlite_synchronous=0,
        sqlite_journal_mode=journal,
        timeout=_WAIT_S,
    ).close()


def _put_aside(folder: Path) -> None:
    for name in _FILES:
        with contextlib.suppress(OSError):
            (folder / name).replace(folder / f"{name}.damaged")


def _unusable_memo_error(folder: Path, error: Exception) -> FabricError:
    return FabricError(
        Problem(
            "disk/cache-unusable",
            f"cannot write to the cache `{folder}`, so the next run rebuilds more: {error}",
            hint="free space, check owner and permissions, or set FABRIC_CACHE_DIR",
        )
    )
