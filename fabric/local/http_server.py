"""An HTTP server on an event loop: listening and accepting connections."""

import contextlib
import errno
import os
import socket

from fabric.local.connection import USUAL, Answering, Connection, HttpLimits
from fabric.local.http_answer import build_json_answer
from fabric.model.problems import FabricError, Problem
from fabric.system.event_loop import EventLoop

_BACKLOG = 512
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE)
_PAUSE = 0.1


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 means any free port."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise FabricError(_port_in_use_problem(host, port, error)) from error
    os.set_blocking(listening.fileno(), False)
    return listening


def _port_in_use_problem(host: str, port: int, error: OSError) -> Problem:
    why = (error.strerror or str(error)).lower()
    free = next((one for one in range(port + 1, min(port + 100, 65536)) if _is_free(host, one)), 0)
    hint = f"use --port {free}, which is free" if free else "choose another --port"
    return Problem("local/port-taken", f"cannot listen on {host}:{port}: {why}", hint=hint)


def _is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError:
            return False
    return True


class HttpServer:
    """A server, used only by the thread of its loop. `answering` receives each request and a reply
    function."""

    def __init__(
        self,
        loop: EventLoop,
        listening: socket.socket,
        answering: Answering,
        limits: HttpLimits = USUAL,
    ) -> None:
        self._loop, self._listening = loop, listening
        self._answering, self._limits = answering, limits
        self._connections: set[Connection] = set()
        loop.watch(listening.fileno(), self._accept)

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def close(self) -> None:
        self._loop.unwatch(self._listening.fileno())
        self._listening.close()
        for one in tuple(self._connections):
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                taken, _ = self._accept_next()
                if len(self._connections) >= self._limits.connections:
                    with taken, contextlib.suppress(OSError):
                        taken.send(
                            build_json_answer(503, {"message": "busy"}).as_bytes(keeps=False)
                        )
                    continue
                os.set_blocking(taken.fileno(), False)
                with contextlib.suppress(OSError):
                    taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connections.add(self._create_connection(taken))

    def _create_connection(self, taken: socket.socket) -> Connection:
        return Connection(self._loop, taken, self._limits, self._answering, self._forget)

    def _forget(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def _accept_next(self) -> tuple[socket.socket, object]:
        try:
            return self._listening.accept()
        except OSError as error:
            if error.errno in _NO_MORE_FILES:
                self._pause()
            raise

    def _pause(self) -> None:
        """Stop accepting: no descriptor is free, so clients wait until one is."""
        fd = self._listening.fileno()
        self._loop.unwatch(fd)
        self._loop.later(_PAUSE, self._go_on)

    def _go_on(self) -> None:
        if self._listening.fileno() >= 0:
            self._loop.watch(self._listening.fileno(), self._accept)
