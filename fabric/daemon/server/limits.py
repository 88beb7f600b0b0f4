"""What one server takes on at a time."""

from msgspec import Struct

# Descriptors for what is not a connection: files, children, stores and their connections.
_OTHER_FILES = 256
_FEWEST = 64


class ServerLimits(Struct, frozen=True):
    """Threads are for 16 quick requests, 32 streams and 72 callers who wait for their run. Answers
    that only compute are made by two of their own: the more threads want the interpreter, the more
    of its time goes into handing it on.

    Of one address so many connections may be open without a request that is being answered; what
    is on the way in has `request_seconds`, what is on the way out may stand still for as long.
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


def connections_within(limits: ServerLimits, descriptors: int) -> int:
    """How many connections fit beside all other files of the process."""
    return max(_FEWEST, min(limits.connections, descriptors - _OTHER_FILES))
