"""The socket that a server listens on."""

import contextlib
import socket

_BACKLOG = 1024
_NEARBY_PORTS = 100


def bind_socket(address: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 means any free port."""
    found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, *_, place = found[0]
    both = family is socket.AF_INET6 and address == "::" and socket.has_dualstack_ipv6()
    return socket.create_server(
        (str(place[0]), port), family=family, backlog=_BACKLOG, dualstack_ipv6=both
    )


def find_free_port(address: str, port: int) -> int:
    """Find a free port shortly after `port`; 0 if all are in use."""
    for one in range(port + 1, min(port + _NEARBY_PORTS, 65536)):
        with contextlib.suppress(OSError):
            bind_socket(address, one).close()
            return one
    return 0
