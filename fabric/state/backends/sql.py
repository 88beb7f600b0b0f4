"""State in a table, one row per key. Differences between databases are behind `Database`."""

import re
import secrets
from typing import Protocol, TypeAlias

from fabric.model.problems import FabricError, Problem
from fabric.state.backends.failures import store_failure_error
from fabric.state.contract import MovedError, Stored, Version

Value: TypeAlias = str | bytes | int
Rows: TypeAlias = list[tuple[object, ...]]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


class NoTableError(Exception):
    """The table does not exist. Nothing was changed."""


class Database(Protocol):
    """A database. Thread-safe. The parameter mark is `?`. Each statement is one transaction."""

    @property
    def place(self) -> str: ...
    @property
    def bytes_type(self) -> str: ...
    def query(self, statement: str, values: tuple[Value, ...]) -> Rows: ...
    def change(self, statement: str, values: tuple[Value, ...]) -> int:
        """Return the number of changed rows. After a connection failure a statement can run
        twice."""

    def define(self, statement: str) -> None:
        """Create the table. Parallel creation by another process is not an error."""

    def close(self) -> None: ...


class Sql:
    """Versions are random texts: a key that was deleted and comes back never repeats one."""

    def __init__(self, database: Database, table: str) -> None:
        self._database = database
        self._table = _quote_identifier(table)
        self._name = table

    @property
    def kind(self) -> str:
        return "sql"

    @property
    def place(self) -> str:
        return f"{self._database.place}, table {self._name}"

    def read(self, key: str) -> Stored | None:
        found = self._select_rows(
            f"SELECT content, version FROM {self._table} WHERE key = ?", (key,)
        )
        if not found:
            return None
        content, version = found[0]
        if not isinstance(content, bytes) or not isinstance(version, str):
            raise store_failure_error(self.place, "the table was not created by fabric")
        return Stored(content, Version(version))

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        version = Version(secrets.token_hex(16))
        try:
            changed = self._put(key, content, version, expected)
        except NoTableError:
            if expected is not None:
                raise MovedError(key) from None
            self._make_table()
            changed = self._put(key, content, version, expected)
        if changed != 1:
            raise MovedError(key)
        return version

    def delete(self, key: str, expected: Version) -> None:
        statement = f"DELETE FROM {self._table} WHERE key = ? AND version = ?"
        try:
            changed = self._database.change(statement, (key, expected))
        except NoTableError:
            changed = 0
        if changed != 1:
            raise MovedError(key)

    def list(self, prefix: str) -> tuple[str, ...]:
        # Not LIKE, which has wildcards, and not a range, which hangs on the collation.
        statement = f"SELECT key FROM {self._table} WHERE substr(key, 1, ?) = ?"
        return tuple(
            sorted(str(key) for (key,) in self._select_rows(statement, (len(prefix), prefix)))
        )

    def close(self) -> None:
        self._database.close()

    def _select_rows(self, statement: str, values: tuple[Value, ...]) -> Rows:
        """Select rows without creating the table, so that reading commands leave no trace."""
        try:
            return self._database.query(statement, values)
        except NoTableError:
            return []

    def _put(self, key: str, content: bytes, version: Version, expected: Version | None) -> int:
        if expected is None:
            return self._database.change(
                f"INSERT INTO {self._table} (key, version, content) VALUES (?, ?, ?)"
                " ON CONFLICT (key) DO NOTHING",
                (key, version, content),
            )
        return self._database.change(
            f"UPDATE {self._table} SET version = ?, content = ?, updated_at = CURRENT_TIMESTAMP"
            " WHERE key = ? AND version = ?",
            (version, content, key, expected),
        )

    def _make_table(self) -> None:
        self._database.define(
            f"CREATE TABLE IF NOT EXISTS {self._table} (key TEXT PRIMARY KEY,"
            f" version TEXT NOT NULL, content {self._database.bytes_type} NOT NULL,"
            " updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)"
        )


def _quote_identifier(table: str) -> str:
    """Quote the table name. Accepted names need no escaping within quotes."""
    if not _NAME.fullmatch(table):
        hint = "use 1 to 63 characters: letters, digits or `_`, first a letter or `_`"
        raise FabricError(Problem("config/bad-table", f"invalid table name `{table}`", hint=hint))
    return f'"{table}"'
