"""Network access of downloads: name resolution and connections."""

import socket
import ssl
from typing import Protocol

from msgspec import Struct, field

from fabric.system.clock import Clock, SystemClock


class Network(Protocol):
    @property
    def clock(self) -> Clock: ...
    def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return all addresses of a host, best first. Raises OSError if there is none."""

    def connect(self, address: str, port: int, seconds: float) -> socket.socket: ...
    def start_tls(self, plain: socket.socket, host: str) -> socket.socket:
        """Start TLS for the requested hostname, not for the address."""


class RealNetwork(Struct, frozen=True):
    clock: Clock = field(default_factory=SystemClock)

    def addresses(self, host: str, port: int) -> tuple[str, ...]:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return tuple(dict.fromkeys(str(place[0]) for *_, place in found))

    def connect(self, address: str, port: int, seconds: float) -> socket.socket:
        # An address is not looked up again: what was checked is what is reached.
        return socket.create_connection((address, port), seconds)

    def start_tls(self, plain: socket.socket, host: str) -> socket.socket:
        return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
