"""Connections of an HTTP server on an event loop: nobody who is slow can hold it up."""

import contextlib
import errno
import os
import socket
from collections.abc import Callable

from msgspec import Struct

from fabric.local.http_answer import ServedAnswer, json_answer
from fabric.local.http_request import (
    BadRequestError,
    RequestHead,
    ServedRequest,
    body_in,
    head_in,
)
from fabric.model.problems import FabricError, Problem
from fabric.system.event_loop import READ, WRITE, Deadline, EventLoop

_CHUNK = 1 << 18
_BACKLOG = 512
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE)
_PAUSE = 0.1


class HttpLimits(Struct, frozen=True):
    """Connections at once, and seconds: for a request that has begun, and between two of them."""

    connections: int = 500
    request_seconds: float = 30
    idle_seconds: float = 75


SendReply = Callable[[ServedAnswer], None]
Answering = Callable[[ServedRequest, SendReply], None]
USUAL = HttpLimits()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; 0 is any port that is free."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise FabricError(_taken(host, port, error)) from error
    os.set_blocking(listening.fileno(), False)
    return listening


def _taken(host: str, port: int, error: OSError) -> Problem:
    why = (error.strerror or str(error)).lower()
    free = next((one for one in range(port + 1, min(port + 100, 65536)) if _is_free(host, one)), 0)
    hint = f"--port {free} is free" if free else "choose another with --port"
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
    """Belongs to the thread of its loop. `answering` is given each request, and how to reply."""

    def __init__(
        self,
        loop: EventLoop,
        listening: socket.socket,
        answering: Answering,
        limits: HttpLimits = USUAL,
    ) -> None:
        self._loop, self._listening = loop, listening
        self._answering, self._limits = answering, limits
        self._connections: set[_Connection] = set()
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
                taken, _ = self._next()
                if len(self._connections) >= self._limits.connections:
                    with taken, contextlib.suppress(OSError):
                        taken.send(json_answer(503, {"message": "busy"}).as_bytes(keeps=False))
                    continue
                os.set_blocking(taken.fileno(), False)
                with contextlib.suppress(OSError):
                    taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connections.add(_Connection(self, taken))

    def _next(self) -> tuple[socket.socket, object]:
        try:
            return self._listening.accept()
        except OSError as error:
            if error.errno in _NO_MORE_FILES:
                self._pause()
            raise

    def _pause(self) -> None:
        """No descriptor is left: who waits to be let in waits until one may be."""
        fd = self._listening.fileno()
        self._loop.unwatch(fd)
        self._loop.later(_PAUSE, self._go_on)

    def _go_on(self) -> None:
        if self._listening.fileno() >= 0:
            self._loop.watch(self._listening.fileno(), self._accept)

    @property
    def loop(self) -> EventLoop:
        return self._loop

    @property
    def limits(self) -> HttpLimits:
        return self._limits

    def answer(self, request: ServedRequest, reply: SendReply) -> None:
        self._answering(request, reply)

    def forget(self, connection: "_Connection") -> None:
        self._connections.discard(connection)


class _Connection:
    """Requests of one client, one after the other."""

    def __init__(self, server: HttpServer, taken: socket.socket) -> None:
        self._server, self._socket = server, taken
        self._loop = server.loop
        self._fd = taken.fileno()
        self._read = bytearray()
        self._chunks = bytearray()
        self._unsent = memoryview(b"")
        self._head: RequestHead | None = None
        self._number = 0
        self._is_busy = self._ends = self._is_closed = self._is_deaf = False
        self._has_said_all = False
        self._waits = Deadline(server.loop, self._run_out)
        self._loop.watch(self._fd, self._readable)
        self._waits.put_off(server.limits.idle_seconds)

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._waits.close()
        self._loop.unwatch(self._fd)
        self._socket.close()
        self._server.forget(self)

    def _run_out(self) -> None:
        if (self._read or self._head) and not self._is_busy and not self._unsent:
            self._refuse(BadRequestError(408, "the request did not come to its end"))
        else:
            self.close()

    def _readable(self) -> None:
        """What follows a request stays where it is until that one is answered."""
        if self._is_busy:
            self._look_for_end()
        else:
            self._take()

    def _take(self) -> None:
        try:
            chunk = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return
        if not self._read and self._head is None:
            self._waits.put_off(self._server.limits.request_seconds)
        self._read += chunk
        self._understand()

    def _understand(self) -> None:
        """The next request, if all of it is there and the one before is answered."""
        if self._is_busy or self._is_closed:
            return
        try:
            request = self._request()
        except BadRequestError as error:
            self._refuse(error)
            return
        if request is None:
            return
        self._is_busy = True
        self._number += 1
        self._waits.call_off()
        self._server.answer(request, self._reply(request, self._number))

    def _request(self) -> ServedRequest | None:
        if self._head is None:
            self._head = head_in(self._read)
            if self._head is None:
                return None
            if self._head.expects and self._head.size:
                self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = body_in(self._read, self._head.size, self._chunks)
        if body is None:
            return None
        head, self._head, self._chunks = self._head, None, bytearray()
        return ServedRequest(head, body)

    def _look_for_end(self) -> None:
        """One that says more waits for its answer, and so may one that says nothing more."""
        try:
            chunk = self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        self._has_said_all = not chunk
        self._loop.unwatch(self._fd)
        self._is_deaf = True

    def _reply(self, request: ServedRequest, number: int) -> SendReply:
        def reply(answer: ServedAnswer) -> None:
            if self._is_closed or number != self._number or not self._is_busy:
                return
            self._is_busy = False
            keeps = request.head.keeps and not self._has_said_all
            self._ends = not keeps
            with_body = request.head.method != "HEAD"
            self._send(answer.as_bytes(keeps=keeps, with_body=with_body))
            self._after_sending()

        return reply

    def _refuse(self, error: BadRequestError) -> None:
        """Nothing of what comes behind could be trusted."""
        self._ends = True
        self._read.clear()
        self._send(json_answer(error.status, {"message": error.message}).as_bytes(keeps=False))
        self._after_sending()

    def _after_sending(self) -> None:
        if not self._is_closed and not self._unsent:
            self._go_on()

    def _go_on(self) -> None:
        if self._ends:
            self._leave()
            return
        if self._is_deaf:
            self._listen()
        self._waits.put_off(self._server.limits.idle_seconds)
        if self._read:
            self._understand()

    def _leave(self) -> None:
        """Say that nothing more comes, and let the client read what was said before."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._loop.watch(self._fd, self._drain)
        self._waits.put_off(2)

    def _drain(self) -> None:
        try:
            if self._socket.recv(_CHUNK):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.close()

    def _send(self, content: bytes) -> None:
        self._unsent = (
            memoryview(bytes(self._unsent) + content) if self._unsent else memoryview(content)
        )
        self._push()

    def _push(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except BlockingIOError:
            self._loop.watch(self._fd, self._push_on, WRITE)
            self._is_deaf = True
            self._waits.put_off(self._server.limits.request_seconds)
        except OSError:
            self.close()

    def _push_on(self) -> None:
        self._push()
        if self._is_closed or self._unsent:
            return
        if self._is_busy:
            self._listen()
        else:
            self._go_on()

    def _listen(self) -> None:
        self._is_deaf = False
        self._loop.watch(self._fd, self._readable, READ)
