"""A PostgreSQL server: one guarded connection, opened on first use and again when it is lost."""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from fabric.model.distribution import Extra
from fabric.model.secrets.secrecy import redact_values
from fabric.state.backends.failures import (
    bad_url_error,
    import_extra,
    missing_object_error,
    report_unreachable,
    store_failure_error,
    store_refusal_error,
)
from fabric.state.backends.sql import NoTableError, Rows, Value
from fabric.system.http.http_client import CONNECT_SECONDS, READ_SECONDS
from fabric.system.retry import Patience, TransientError, retry

# Each names a file or a section of the user's that can hold a password.
_FILES = ("service", "servicefile", "passfile")


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    import psycopg

    Cursor: TypeAlias = psycopg.Cursor[tuple[Any, ...]]

T = TypeVar("T")
# A network that went away is noticed within half a minute, also while nothing is sent.
_IDLE_SECONDS, _PROBE_SECONDS, _PROBES = 10, 5, 4
# A server that refuses to let us in names no SQLSTATE to the client: only words.
_REFUSALS = ("authentication failed", "no password supplied", "pg_hba.conf", "role ")
_UNDEFINED_TABLE = "42P01"
_INSUFFICIENT_PRIVILEGE = "42501"
# Another process makes the same table at this moment: on the next try it is there.
_ALREADY_THERE = ("42P07", "42710", "23505")
# Serialization failure, deadlock, too many connections, the server stops or starts.
_TRANSIENT = ("40001", "40P01", "53300", "57P01", "57P02", "57P03", *_ALREADY_THERE)


class Postgres:
    bytes_type = "BYTEA"

    def __init__(
        self, url: str, name: str, patience: Patience, silence: float = READ_SECONDS
    ) -> None:
        """`name` is the variable with the URL. `silence` is the response timeout."""
        with import_extra(Extra.POSTGRES):
            import psycopg.conninfo
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # Its words quote the URL.
            raise bad_url_error(name, "not a PostgreSQL URL") from None
        self._url = url
        self._password = str(parts.get("password") or "")
        host = parts.get("host") or "localhost"
        self._place = f"postgresql://{host}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"
        self._patience = patience
        self._silence = silence
        self._guard = threading.Lock()
        self._connection: psycopg.Connection | None = None

    @property
    def place(self) -> str:
        return self._place

    def query(self, statement: str, values: tuple[Value, ...]) -> Rows:
        return self._run(statement, values, _fetch_all_rows)

    def change(self, statement: str, values: tuple[Value, ...]) -> int:
        return self._run(statement, values, _count_rows)

    def define(self, statement: str) -> None:
        self._run(statement, (), _count_rows)

    def close(self) -> None:
        with self._guard:
            self._drop()

    def _run(self, statement: str, values: tuple[Value, ...], take: "Callable[[Cursor], T]") -> T:
        with self._guard, report_unreachable(self.place):
            return retry(lambda: self._execute_once(statement, values, take), self._patience)

    def _execute_once(
        self, statement: str, values: tuple[Value, ...], take: "Callable[[Cursor], T]"
    ) -> T:
        import psycopg

        try:
            connection = self._open()
            with _limit_time(connection, self._silence):
                return take(connection.execute(_encode_statement(statement), values or None))
        except psycopg.Error as error:
            raise self._convert_error(error) from error

    def _open(self) -> "psycopg.Connection":
        import psycopg

        if self._connection is not None and self._connection.closed:
            self._drop()
        if self._connection is None:
            # No prepared statements and no session settings: poolers would lose them.
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=int(CONNECT_SECONDS),
                tcp_user_timeout=int(self._silence * 1000),
                keepalives_idle=_IDLE_SECONDS,
                keepalives_interval=_PROBE_SECONDS,
                keepalives_count=_PROBES,
            )
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _convert_error(self, error: "psycopg.Error") -> Exception:
        state = error.sqlstate or ""
        words = redact_values(" ".join(str(error).split()), (self._password,))
        if state == _UNDEFINED_TABLE:
            return NoTableError()
        if state in _TRANSIENT:
            return TransientError(words)
        if state == _INSUFFICIENT_PRIVILEGE:
            return store_refusal_error(self.place, words)
        if state:
            return store_failure_error(self.place, words)
        return self._convert_connection_error(words)

    def _convert_connection_error(self, words: str) -> Exception:
        """The connection was not made, or broke."""
        self._drop()
        if any(refusal in words for refusal in _REFUSALS):
            return store_refusal_error(self.place, words)
        if "database " in words and "does not exist" in words:
            return missing_object_error(self.place, "database")
        return TransientError(words)


def _fetch_all_rows(cursor: "Cursor") -> Rows:
    return cursor.fetchall()


def _count_rows(cursor: "Cursor") -> int:
    return cursor.rowcount


def _encode_statement(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()


@contextlib.contextmanager
def _limit_time(connection: "psycopg.Connection", seconds: float) -> Iterator[None]:
    """Limit the wait for a hanging server or a locked row."""
    timer = threading.Timer(seconds, _close_socket, (connection,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _close_socket(connection: "psycopg.Connection") -> None:
    """Close the socket, so that the waiting thread gets a connection error."""
    import psycopg

    with (
        contextlib.suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)


class PostgresTarget(Struct, frozen=True):
    """The target of a URL.

    An invalid URL has no hosts: opening the backend reports it.
    """

    hosts: tuple[str, ...] = ()
    has_password: bool = False
    # Means that the password of one host is sent to another.
    has_other_address: bool = False
    reads_files: bool = False


def parse_postgres_target(url: str) -> PostgresTarget:
    with import_extra(Extra.POSTGRES):
        import psycopg.conninfo
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return PostgresTarget()
    addresses = _split_list(parts.get("hostaddr"))
    # A path is a socket of this machine, and so is no host at all.
    names = tuple(one for one in _split_list(parts.get("host")) if not one.startswith(("/", "@")))
    return PostgresTarget(
        (*names, *addresses),
        bool(parts.get("password")),
        bool(addresses),
        any(parts.get(name) for name in _FILES),
    )


def _split_list(value: object) -> tuple[str, ...]:
    return tuple(one for one in str(value or "").split(",") if one)
