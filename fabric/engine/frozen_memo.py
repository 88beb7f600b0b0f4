"""A memo that may not be written: what is remembered is read, and nothing is kept."""

import contextlib
import sqlite3
from pathlib import Path
from urllib.parse import quote

from fabric.engine.memo_door import NoMemo, span_of
from fabric.model.hashing import unsealed
from fabric.model.problems import Problem

# Plain text keys to plain bytes, as the memo writes them.
_ONE = "SELECT key, value FROM Cache WHERE raw = 1 AND mode = 1 AND key = ?"
_MANY = "SELECT key, value FROM Cache WHERE raw = 1 AND mode = 1 AND key >= ? AND key < ?"


class FrozenMemo(NoMemo):
    """For a look at a workspace that lies on a read-only disk, or belongs to somebody else."""

    def __init__(self, folder: Path, failure: Problem | None = None) -> None:
        """`failure` is why it may not be written."""
        self.failure = failure
        # Without `immutable` SQLite wants a file for its readers beside the database.
        self._address = f"file:{quote(str(folder / 'cache.db'))}?mode=ro&immutable=1"

    def get_bytes(self, key: str) -> bytes | None:
        return self._select(_ONE, key).get(key)

    def get_range(self, prefix: str) -> dict[str, bytes]:
        return self._select(_MANY, *span_of(prefix))

    def _select(self, query: str, *values: str) -> dict[str, bytes]:
        try:
            with contextlib.closing(sqlite3.connect(self._address, uri=True)) as database:
                rows = database.execute(query, values).fetchall()
        except sqlite3.Error:
            return {}
        found = {key: unsealed(key, value) for key, value in rows}
        return {key: content for key, content in found.items() if content is not None}
