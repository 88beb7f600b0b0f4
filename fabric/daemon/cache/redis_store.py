"""A Redis store of texts by key and stage, with a time to live.

If the server is gone, slow, full or not Redis, nothing is found or stored.
"""

import contextlib
import hashlib
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import redis
from redis.backoff import NoBackoff
from redis.connection import Connection, ConnectionPool, SSLConnection, parse_url
from redis.retry import Retry

from fabric.daemon.cache.answers import Lookup
from fabric.daemon.cache.pending_invalidations import PendingInvalidation, PendingInvalidations
from fabric.daemon.options import PATIENCE
from fabric.model.problems import FabricError, Problem

# A socket with limits: every operation ends in time and size, whatever the peer does.


_NOW = threading.local()


@contextlib.contextmanager
def _limit_sockets(seconds: float, most_bytes: int) -> Iterator[None]:
    """Limit the bounded sockets of this thread to a deadline and a number of bytes."""
    _NOW.due, _NOW.left = time.monotonic() + seconds, most_bytes
    try:
        yield
    finally:
        _NOW.due = None


class BoundedSocket:
    """A socket. Beside its own timeout, each call respects the remaining time of `within`."""

    def __init__(self, inner: socket.socket) -> None:
        self._inner = inner
        self._timeout = inner.gettimeout()

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds
        self._inner.settimeout(seconds)

    def gettimeout(self) -> float | None:
        return self._timeout

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001 - as sockets have it
        self.settimeout(None if flag else 0.0)

    def recv(self, size: int, flags: int = 0) -> bytes:
        self._keep_to_the_time()
        found = self._inner.recv(size, flags)
        if getattr(_NOW, "due", None) is not None:
            _NOW.left -= len(found)
            if _NOW.left < 0:
                message = "the response is larger than any cached value"
                raise ConnectionError(message)
        return found

    def sendall(self, data: bytes, flags: int = 0) -> None:
        self._keep_to_the_time()
        self._inner.sendall(data, flags)

    def fileno(self) -> int:
        return self._inner.fileno()

    def shutdown(self, how: int) -> None:
        self._inner.shutdown(how)

    def close(self) -> None:
        self._inner.close()

    def setsockopt(self, level: int, option: int, value: int) -> None:
        self._inner.setsockopt(level, option, value)

    def _keep_to_the_time(self) -> None:
        due: float | None = getattr(_NOW, "due", None)
        if due is None or self._timeout == 0:
            return
        left = due - time.monotonic()
        if left <= 0:
            raise TimeoutError("too slow")
        self._inner.settimeout(left if self._timeout is None else min(left, self._timeout))


MOST_BYTES = 4 << 20
_EPOCH_MS, _EPOCH_LETTERS = 86_400_000, 16
# No stage is called like these, so no key of an answer ends like them.
_EPOCH, _KEYS = "#epoch", "#keys"
_AT_ONCE = 500
# Kept only while nothing of the stage was thrown away since the answer was begun.
_KEEP = """
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('SET', KEYS[1], ARGV[1] .. ARGV[2], 'PX', ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ms)
redis.call('ZADD', KEYS[3], ms + ARGV[3], KEYS[1])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return 1
"""
_Found = TypeVar("_Found")
_PAUSE_SECONDS = 5.0


class RedisStore:
    """Thread-safe. An outage costs one request at a time, and all threads notice it.

    Each text begins with the epoch of its stage. Texts of another epoch count as deleted.
    """

    def __init__(
        self, url: str, prefix: str, owed: PendingInvalidations, patience: float = PATIENCE
    ) -> None:
        self._prefix = prefix
        self._patience = patience
        self._pool = _open_pool(url, patience / 2)
        self._client = redis.Redis(connection_pool=self._pool)
        self._keep = self._client.register_script(_KEEP)
        self._breaker = Breaker(time.monotonic)
        self._owed = owed

    @property
    def is_well(self) -> bool:
        return not self._breaker.is_open

    def answers(self) -> bool:
        """Return whether the server responds. The check is skipped shortly after a failure."""
        return self._try_call(self._check_server) or False

    def find(self, key: str, stage: str) -> Lookup:
        return self._try_call(lambda: self._find(key, stage)) or Lookup()

    def keep(self, key: str, stage: str, text: bytes, epoch: bytes, seconds: float) -> bool:
        """Store a text. Returns False on any failure."""
        if len(text) > MOST_BYTES:
            return False
        ms = int(seconds * 1000)
        keys = [self._prefix + key, *self._build_stage_keys(stage)]
        kept = self._try_call(lambda: self._keep(keys, [epoch, text, ms, ms + _EPOCH_MS]))
        return bool(kept)

    def clear(self, stage: str) -> None:
        """Invalidate a stage, including texts computed before. If this fails now, it is done before
        the next lookup."""
        self._clear(self._owed.add(stage))

    def pay(self) -> None:
        """Clear the invalidations of earlier processes now, or as soon as possible."""
        for one in self._owed.owed:
            self._clear(one)

    def close(self) -> None:
        self._client.close()

    def _clear(self, one: PendingInvalidation) -> None:
        if not self._try_call(lambda: self._begin_epoch(one)):
            self._owed.keep(one)
            return
        while self._try_call(lambda: self._drop_some(one.stage)):
            pass

    def _check_server(self) -> bool:
        self._clear_owed()
        return bool(self._client.ping())

    def _clear_owed(self) -> None:
        for one in self._owed.owed:
            self._begin_epoch(one)

    def _find(self, key: str, stage: str) -> Lookup:
        self._clear_owed()
        epoch_key, _ = self._build_stage_keys(stage)
        asked = ("GETRANGE", self._prefix + key, 0, MOST_BYTES + _EPOCH_LETTERS)
        text, epoch = self._send_commands(asked, ("GET", epoch_key))
        if epoch is None:
            self._client.set(epoch_key, _generate_epoch(), px=_EPOCH_MS, nx=True)
            epoch = self._client.get(epoch_key)
        if not isinstance(epoch, bytes) or len(epoch) != _EPOCH_LETTERS:
            return Lookup()
        if not (isinstance(text, bytes) and text.startswith(epoch)):
            return Lookup(None, epoch)
        found = text.removeprefix(epoch)
        return Lookup(found if found and len(found) <= MOST_BYTES else None, epoch)

    def _send_commands(self, *commands: tuple[str | int, ...]) -> Sequence[object]:
        """Send commands in one round trip. The client's pipeline takes twice as long."""
        connection = self._pool.get_connection()
        try:
            packed = connection.pack_commands(commands)  # type: ignore[no-untyped-call]
            connection.send_packed_command(packed)  # type: ignore[no-untyped-call]
            return [connection.read_response() for _ in commands]
        except BaseException:
            # An answer that nobody read must not be the next one's.
            connection.disconnect()  # type: ignore[no-untyped-call]
            raise
        finally:
            self._pool.release(connection)

    def _begin_epoch(self, one: PendingInvalidation) -> bool:
        epoch_key, _ = self._build_stage_keys(one.stage)
        self._client.set(epoch_key, _generate_epoch(), px=_EPOCH_MS)
        self._owed.remove_completed(one)
        return True

    def _drop_some(self, stage: str) -> bool:
        """Delete some keys. Returns whether more can exist."""
        _, keys_key = self._build_stage_keys(stage)
        found = self._client.zrange(keys_key, 0, _AT_ONCE - 1)
        if found:
            self._client.unlink(*found)
            self._client.zrem(keys_key, *found)
        return len(found) == _AT_ONCE

    def _build_stage_keys(self, stage: str) -> tuple[str, str]:
        return f"{self._prefix}{stage}:{_EPOCH}", f"{self._prefix}{stage}:{_KEYS}"

    def _try_call(self, work: Callable[[], _Found]) -> _Found | None:
        if not self._breaker.may_try():
            return None
        try:
            with _limit_sockets(self._patience, 2 * MOST_BYTES):
                found = work()
        # Whoever is no Redis can make its client fail in ways of all kinds.
        except Exception:  # noqa: BLE001
            self._breaker.report_failure()
            return None
        self._breaker.went_well()
        return found


def _generate_epoch() -> bytes:
    return secrets.token_hex(_EPOCH_LETTERS // 2).encode()


class _Plain(Connection):
    def _connect(self) -> BoundedSocket:
        return BoundedSocket(super()._connect())  # type: ignore[no-untyped-call]


class _Encrypted(SSLConnection):
    def _connect(self) -> BoundedSocket:
        return BoundedSocket(super()._connect())  # type: ignore[no-untyped-call]


def cache_digest(url: str, prefix: str) -> str:
    """Hash the cache address, regardless of user and password."""
    said = _open_pool(url, PATIENCE).connection_kwargs
    place = (said.get("host", "localhost"), said.get("port", 6379), said.get("db", 0))
    return hashlib.sha256(repr((place, prefix)).encode()).hexdigest()[:16]


def _open_pool(url: str, step: float) -> ConnectionPool:
    try:
        said = parse_url(url)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise FabricError(bad_cache_url_problem()) from error
    kind = _Encrypted if url.startswith("rediss://") else _Plain
    return ConnectionPool(
        **{
            **said,
            "connection_class": kind,
            "max_connections": 64,
            "socket_timeout": step,
            "socket_connect_timeout": step,
            "retry": Retry(NoBackoff(), 0),
            "retry_on_error": [],
            # Each of these would be one more way to the server and back.
            "protocol": 2,
            "driver_info": None,
        }
    )


def bad_cache_url_problem() -> Problem:
    """Return the problem without the URL, which can contain a password."""
    hint = "use redis://host:6379/0, or rediss:// for TLS"
    return Problem("usage/bad-value", "invalid URL of the cache", hint)


# A circuit breaker: an unresponsive server is skipped for a while, then one request tests it.


class Breaker:
    """Thread-safe. Call `may_try` before each operation, and report the result afterwards."""

    def __init__(self, monotonic: Callable[[], float], pause: float = _PAUSE_SECONDS) -> None:
        self._monotonic = monotonic
        self._pause = pause
        self._lock = threading.Lock()
        self._again_at: float | None = None

    @property
    def is_open(self) -> bool:
        return self._again_at is not None

    def may_try(self) -> bool:
        """Return whether to try. During an outage one of many callers can try every few seconds."""
        with self._lock:
            if self._again_at is None:
                return True
            now = self._monotonic()
            if now < self._again_at:
                return False
            self._again_at = now + self._pause
            return True

    def went_well(self) -> None:
        with self._lock:
            self._again_at = None

    def report_failure(self) -> None:
        with self._lock:
            self._again_at = self._monotonic() + self._pause
