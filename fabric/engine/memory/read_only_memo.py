"""A read-only memo: it returns cached rows and stores nothing."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fabric.cache_seal import CacheSeal
from fabric.engine.memory.memo import KEYS, SIZES, NoMemo, compute_key_range
from fabric.model.problems import Problem
from fabric.system.files.disk import is_strange

# Plain text keys to plain bytes, as the memo writes them.
_ONE = "SELECT key, value FROM Cache WHERE raw = 1 AND mode = 1 AND key = ?"
_MANY = "SELECT key, value FROM Cache WHERE raw = 1 AND mode = 1 AND key >= ? AND key < ?"


class ReadOnlyMemo(NoMemo):
    """For a workspace on a read-only disk or of another user."""

    def __init__(self, folder: Path, seal: CacheSeal, failure: Problem | None = None) -> None:
        """`failure` explains why the memo cannot be written."""
        self.failure = failure
        self._seal = seal
        # Without `immutable` SQLite wants a file for its readers beside the database.
        self._file = folder / "cache.db"
        self._address = f"file:{quote(str(folder / 'cache.db'))}?mode=ro&immutable=1"

    def get_bytes(self, key: str) -> bytes | None:
        return self._select(_ONE, key).get(key)

    def get_range(self, prefix: str) -> dict[str, bytes]:
        return self._select(_MANY, *compute_key_range(prefix))

    def sizes(self, prefix: str) -> list[tuple[str, int, float]]:
        rows = self._select_rows(SIZES, *compute_key_range(prefix))
        return [(str(key), int(length or 0), float(when or 0)) for key, length, when in rows]

    def keys(self) -> list[str]:
        return [key for (key,) in self._select_rows(KEYS) if isinstance(key, str)]

    def is_sound(self, key: str) -> bool:
        return self.get_bytes(key) is not None

    def _select(self, query: str, *values: str) -> dict[str, bytes]:
        rows = self._select_rows(query, *values)
        found = {key: self._seal.unseal(key, value) for key, value in rows}
        return {key: content for key, content in found.items() if content is not None}

    def _select_rows(self, query: str, *values: str) -> list[Any]:
        if is_strange(self._file):
            return []
        try:
            with contextlib.closing(sqlite3.connect(self._address, uri=True)) as database:
                return database.execute(query, values).fetchall()
        except sqlite3.Error:
            return []
