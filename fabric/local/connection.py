"""One HTTP server connection; a slow client does not block others."""

import contextlib
import socket
from collections.abc import Callable

from msgspec import Struct

from fabric.local.http_answer import ServedAnswer, build_json_answer
from fabric.local.http_request import (
    BadRequestError,
    RequestHead,
    ServedRequest,
    take_body,
    take_head,
)
from fabric.system.event_loop import READ, WRITE, Deadline, EventLoop

_CHUNK = 1 << 18


class HttpLimits(Struct, frozen=True):
    """Limits: number of connections, and seconds for a started request and between two requests."""

    connections: int = 500
    request_seconds: float = 30
    idle_seconds: float = 75
    # Additional host names that requests can have, besides those of this machine.
    hosts: frozenset[str] = frozenset()


SendReply = Callable[[ServedAnswer], None]
Answering = Callable[[ServedRequest, SendReply], None]
USUAL = HttpLimits()


class Connection:
    """Requests of one client, one after the other."""

    def __init__(
        self,
        loop: EventLoop,
        taken: socket.socket,
        limits: HttpLimits,
        answering: Answering,
        forget: Callable[["Connection"], None],
    ) -> None:
        self._loop, self._socket, self._limits = loop, taken, limits
        self._answering, self._forget = answering, forget
        self._fd = taken.fileno()
        self._read = bytearray()
        self._chunks = bytearray()
        self._unsent = memoryview(b"")
        self._head: RequestHead | None = None
        self._number = 0
        self._is_busy = self._ends = self._is_closed = self._is_deaf = False
        self._has_said_all = False
        self._waits = Deadline(loop, self._run_out)
        self._loop.watch(self._fd, self._handle_readable)
        self._waits.put_off(limits.idle_seconds)

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._waits.close()
        self._loop.unwatch(self._fd)
        self._socket.close()
        self._forget(self)

    def _run_out(self) -> None:
        if (self._read or self._head) and not self._is_busy and not self._unsent:
            self._refuse(BadRequestError(408, "incomplete request"))
        else:
            self.close()

    def _handle_readable(self) -> None:
        """Read more data. Data after a request waits until that one is answered."""
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
            self._waits.put_off(self._limits.request_seconds)
        self._read += chunk
        self._parse_next()

    def _parse_next(self) -> None:
        """Parse the next request, if it is complete and the previous one is answered."""
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
        self._answering(request, self._reply(request, self._number))

    def _request(self) -> ServedRequest | None:
        if self._head is None:
            self._head = take_head(self._read, self._limits.hosts)
            if self._head is None:
                return None
            if self._head.expects and self._head.size:
                self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = take_body(self._read, self._head.size, self._chunks)
        if body is None:
            return None
        head, self._head, self._chunks = self._head, None, bytearray()
        return ServedRequest(head, body)

    def _look_for_end(self) -> None:
        """Detect a closed connection. A client that has sent more, or has stopped sending, can
        still wait for its response."""
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
            self._continue_after_send()

        return reply

    def _refuse(self, error: BadRequestError) -> None:
        """Reject the request and close: later data cannot be trusted."""
        self._ends = True
        self._read.clear()
        self._send(
            build_json_answer(error.status, {"message": error.message}).as_bytes(keeps=False)
        )
        self._continue_after_send()

    def _continue_after_send(self) -> None:
        if not self._is_closed and not self._unsent:
            self._go_on()

    def _go_on(self) -> None:
        if self._ends:
            self._leave()
            return
        if self._is_deaf:
            self._listen()
        self._waits.put_off(self._limits.idle_seconds)
        if self._read:
            self._parse_next()

    def _leave(self) -> None:
        """Signal the end and let the client read the rest of the response."""
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
            self._waits.put_off(self._limits.request_seconds)
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
        self._loop.watch(self._fd, self._handle_readable, READ)
