"""The parts of a server."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

from fabric.daemon.server.gate import Admission, CallHead
from fabric.daemon.server.tasks import ServerLog

# The host and port of a client.
PeerAddress: TypeAlias = tuple[str, int]
# Descriptors for what is not a connection: files, children, stores and their connections.
_OTHER_FILES = 256
_FEWEST = 64


class ServerLimits(Struct, frozen=True):
    """Threads for 16 quick requests, 32 streams and 72 waiting callers.

    Pure computations have two threads of their own, because more threads compete for the
    interpreter.

    Each address has a limit of connections without an active request. A request must arrive within
    `request_seconds`, and an answer can stall as long.
    """

    threads: int = 120
    computing_threads: int = 2
    connections: int = 2500
    waiting_of_one: int = 64
    header_bytes: int = 16 * 1024
    body_bytes: int = 1024 * 1024
    header_seconds: float = 10.0
    request_seconds: float = 30.0
    idle_seconds: float = 15.0
    linger_seconds: float = 2.0


def compute_connection_limit(limits: ServerLimits, descriptors: int) -> int:
    """Compute how many connections fit beside the other open files."""
    return max(_FEWEST, min(limits.connections, descriptors - _OTHER_FILES))


StartResponse: TypeAlias = Callable[..., object]
Wsgi: TypeAlias = Callable[[dict[str, object], StartResponse], Iterable[bytes]]


class ServerParts(Struct, frozen=True):
    """`shares_address` detects addresses that many clients share."""

    app: Wsgi
    admit: Callable[[CallHead, str], Admission]
    teller: ServerLog
    new_id: Callable[[], str]
    shares_address: Callable[[str], bool]
    limits: ServerLimits = ServerLimits()
