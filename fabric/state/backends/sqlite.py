"""The embedded database: one file, one guarded connection in each process."""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.state.backends.failures import (
    CHECK_MODE,
    file_access_error,
    store_failure_error,
    unusable_state_error,
)
from fabric.state.backends.sql import NoTableError, Rows, Value
from fabric.system.files.disk import check_no_links, make_private_file

_BUSY_SECONDS = 10.0
_DISK = {
    "SQLITE_FULL": ("disk/full", "the disk is full"),
    "SQLITE_READONLY": ("disk/read-only", "the file is read-only"),
    "SQLITE_IOERR": ("disk/cannot-write", "disk error"),
}
_UNREACHABLE = {
    "SQLITE_CANTOPEN": ("the file cannot be opened", CHECK_MODE),
    "SQLITE_BUSY": (
        f"locked by another process for {_BUSY_SECONDS:.0f} s",
        "end or resume the process that holds the lock",
    ),
    "SQLITE_NOTADB": ("the file is not a SQLite database", "move the file, or restore a backup"),
    "SQLITE_CORRUPT": ("the file is damaged", "restore a backup"),
}


class Sqlite:
    bytes_type = "BLOB"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    @property
    def place(self) -> str:
        return f"sqlite:{self._path}"

    def query(self, statement: str, values: tuple[Value, ...]) -> Rows:
        with self._guard, self._explain_errors():
            return self._open().execute(statement, values).fetchall()

    def change(self, statement: str, values: tuple[Value, ...]) -> int:
        with self._guard, self._explain_errors():
            connection = self._open()
            # The write lock comes first: a lock that grows midway can only fail, not wait.
            connection.execute("BEGIN IMMEDIATE")
            try:
                changed = connection.execute(statement, values).rowcount
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise
            return changed

    def define(self, statement: str) -> None:
        make_private_file(self._path)
        self.change(statement, ())

    def close(self) -> None:
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            # Connecting would make the file, and with the mode of any file.
            if not self._path.exists():
                raise NoTableError
            check_no_links(self._path)
            self._connection = _connect(self._path)
        return self._connection

    @contextlib.contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _convert_sqlite_error(self._path, error) from error
        except PermissionError as error:
            raise file_access_error(self._path, error) from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _roll_back(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error):
        connection.execute("ROLLBACK")


def _convert_sqlite_error(path: Path, error: sqlite3.Error) -> Exception:
    text = str(error)
    if text.startswith("no such table"):
        return NoTableError()
    # Extended names, such as SQLITE_BUSY_SNAPSHOT, begin with the plain one.
    name = "_".join(getattr(error, "sqlite_errorname", "").split("_")[:2])
    if name in _DISK:
        code, why = _DISK[name]
        return FabricError(Problem(code, f"cannot write `sqlite:{path}`: {why}"))
    if name in _UNREACHABLE:
        return unusable_state_error(path, *_UNREACHABLE[name])
    return store_failure_error(f"sqlite:{path}", text)
