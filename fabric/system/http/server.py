"""An HTTP server on an event loop: listening and accepting connections."""

import contextlib
import errno
import os
import socket
import time
from collections.abc import Callable

from msgspec import Struct

from fabric.system.event_loop import EventLoop
from fabric.system.http.answers import ServedAnswer
from fabric.system.http.connection import (
    Connection,
    ConnectionEnds,
    ConnectionRules,
    HttpLimits,
    RequestHandler,
)

_ACCEPTED_TOGETHER = 64
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE)
_PAUSE = 0.1
# Without a request for this time, one of too many connections of an address is closed.
_SETTLED = 1.0


class HttpService(Struct, frozen=True):
    """The content of a server."""

    open_request: Callable[[ConnectionEnds], RequestHandler]
    # The answer to connections above the limit.
    busy: ServedAnswer
    # Whether many clients share an address, so that its connections are not limited.
    shares_address: Callable[[str], bool] = lambda _: True


class HttpServer:
    """A server, used only by the thread of its loop."""

    def __init__(
        self,
        loop: EventLoop,
        listening: socket.socket,
        service: HttpService,
        limits: HttpLimits | None = None,
    ) -> None:
        self._loop, self._listening, self._service = loop, listening, service
        self._limits = limits or HttpLimits()
        self._connections: set[Connection] = set()
        self._rules = ConnectionRules(
            loop, self._limits, service.open_request, self._connections.discard
        )
        self.port = int(listening.getsockname()[1])
        os.set_blocking(listening.fileno(), False)
        self._listen()

    @property
    def in_flight(self) -> int:
        """Return the number of connections with unfinished answers. Thread-safe."""
        return sum(not one.is_waiting for one in tuple(self._connections))

    def __len__(self) -> int:
        return len(self._connections)

    def stop_listening(self) -> None:
        """Accept no new connections. Existing ones are served."""
        if self._listening.fileno() >= 0:
            self._loop.unwatch(self._listening.fileno())
            self._listening.close()

    def close(self) -> None:
        self.stop_listening()
        for one in tuple(self._connections):
            one.close()

    def _listen(self) -> None:
        if self._listening.fileno() >= 0:
            self._loop.watch(self._listening.fileno(), self._accept)

    def _accept(self) -> None:
        """Accept all waiting connections, up to a limit that keeps the others served."""
        for _ in range(_ACCEPTED_TOGETHER):
            try:
                accepted, address = self._listening.accept()
            except OSError as error:
                if error.errno in _NO_MORE_FILES:
                    self._pause()
                return
            self._admit(accepted, str(address[0]))

    def _pause(self) -> None:
        """Stop accepting for a short time: no descriptor is free, so clients wait until one is."""
        self._make_room()
        self._loop.unwatch(self._listening.fileno())
        self._loop.later(_PAUSE, self._listen)

    def _admit(self, accepted: socket.socket, peer: str) -> None:
        if len(self._connections) >= self._limits.connections and not self._make_room():
            with accepted, contextlib.suppress(OSError):
                accepted.settimeout(0)
                accepted.send(self._service.busy.as_bytes(keeps=False))
            return
        try:
            os.set_blocking(accepted.fileno(), False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ends = ConnectionEnds(peer, str(accepted.getsockname()[0]), self.port)
        except OSError:
            accepted.close()
            return
        self._connections.add(Connection(self._rules, accepted, ends))
        if self._limits.idle_per_address and not self._service.shares_address(peer):
            self._close_idle_connections(peer)

    def _make_room(self) -> bool:
        """Close the connection that has been idle for longest."""
        idle = min(
            (one for one in self._connections if one.is_waiting),
            key=lambda one: one.waits_since,
            default=None,
        )
        if idle is not None:
            idle.close()
        return idle is not None

    def _close_idle_connections(self, peer: str) -> None:
        idle = sorted(
            (one for one in self._connections if one.is_waiting and one.ends.peer == peer),
            key=lambda one: one.waits_since,
        )
        settled = time.monotonic() - _SETTLED
        for one in idle[: max(0, len(idle) - self._limits.idle_per_address)]:
            if one.waits_since < settled:
                one.close()
