"""One HTTP server connection: the requests of a client, one after the other."""

import contextlib
import socket
import time
from collections.abc import Callable
from enum import Enum
from typing import Protocol

from msgspec import Struct

from fabric.system.event_loop import READ, WRITE, Callback, Deadline, EventLoop
from fabric.system.http.answers import ServedAnswer
from fabric.system.http.requests import (
    BadRequestError,
    BodyReader,
    RequestHead,
    ServedRequest,
    take_head,
)

_RECEIVE_BYTES = 1 << 18


class HttpLimits(Struct, frozen=True, kw_only=True):
    """Limits of a server and of each of its connections."""

    connections: int = 500
    # Connections of one address without an active request; 0 means no limit.
    idle_per_address: int = 0
    header_bytes: int = 64 * 1024
    body_bytes: int = 10 * 1024 * 1024
    # From the first byte of a request to the end of its headers, and to the end of its body. An
    # answer can stall for `request_seconds`.
    header_seconds: float = 30
    request_seconds: float = 30
    idle_seconds: float = 75
    # How long data is discarded after the last answer: a reset would discard the answer.
    linger_seconds: float = 2


class ConnectionEnds(Struct, frozen=True):
    """The address of the client, and the address and port of this server."""

    peer: str
    local: str = ""
    port: int = 0


class RequestHandler(Protocol):
    """Handles one request, in the loop's thread."""

    def admit(self, head: RequestHead) -> None:
        """Check the headers before the body is read. Raises BadRequestError."""

    def answer(self, request: ServedRequest, reply: "Reply") -> None:
        """Reply to the request, now or later."""

    def refuse(self, error: BadRequestError) -> ServedAnswer:
        """Build the answer to a rejected request."""


class ConnectionRules(Struct, frozen=True):
    """The common part of the connections of a server."""

    loop: EventLoop
    limits: HttpLimits
    # Called for each request, once its headers are complete or invalid.
    open_request: Callable[[ConnectionEnds], RequestHandler]
    forget: Callable[["Connection"], None]


class _Phase(Enum):
    READING = "waiting for a request, or for the rest of one"
    ANSWERING = "a handler has the request"
    FLUSHING = "sending the rest of an answer"
    LEAVING = "discarding data until the client closes"
    CLOSED = "closed"


class Reply:
    """The answer to one request, whole or in parts; a second one is ignored. Only the loop's thread
    calls its methods."""

    def __init__(self, connection: "Connection", head: RequestHead) -> None:
        self._connection = connection
        self.head = head
        self.has_body = head.method != "HEAD"

    def __call__(self, answer: ServedAnswer) -> None:
        if not self.is_over:
            keeps = self.head.keeps and not self._connection.has_input_ended
            data = answer.as_bytes(keeps=keeps, with_body=self.has_body)
            self._connection.finish(data, keeps=keeps)

    def begin(self, answer: ServedAnswer, note_unsent: Callable[[int], None]) -> None:
        """Send the head of an answer in parts. The connection ends with the answer. `note_unsent`
        receives the number of unsent bytes after each change."""
        if not self.is_over:
            framing = ("transfer-encoding: chunked",) if self.head.is_new and self.has_body else ()
            self._connection.note_unsent = note_unsent
            self._connection.send(answer.encode_head(*framing, "connection: close"))

    def send_part(self, part: bytes) -> None:
        if part and self.has_body and not self.is_over:
            is_chunk = self.head.is_new
            self._connection.send(b"%x\r\n%b\r\n" % (len(part), part) if is_chunk else part)

    def end(self, *, is_complete: bool = True) -> None:
        """End an answer in parts. An incomplete one has no last chunk."""
        if not self.is_over:
            has_end = is_complete and self.has_body and self.head.is_new
            self._connection.finish(b"0\r\n\r\n" if has_end else b"", keeps=False)

    @property
    def is_over(self) -> bool:
        """Return whether the answer has ended or the connection is closed. Thread-safe."""
        return self._connection.reply is not self


SendReply = Callable[[ServedAnswer], None]


class Connection:
    def __init__(
        self, rules: ConnectionRules, accepted: socket.socket, ends: ConnectionEnds
    ) -> None:
        self.ends = ends
        # The start of the wait for a request, or for the rest of one.
        self.waits_since = time.monotonic()
        self._rules, self._limits, self._loop = rules, rules.limits, rules.loop
        self._socket, self._fd = accepted, accepted.fileno()
        self._received, self._unsent = bytearray(), bytearray()
        self._phase = _Phase.READING
        # Of the request that is being read.
        self._handler: RequestHandler | None = None
        self._head: RequestHead | None = None
        self._body: BodyReader | None = None
        # Of the request that is being answered.
        self.reply: Reply | None = None
        self.note_unsent: Callable[[int], None] | None = None
        self.has_input_ended = False
        self._keeps = True
        self._has_begun = self._is_serving = False
        self._watching: Callback | None = None
        self._deadline = Deadline(self._loop, self._handle_deadline)
        self._deadline.put_off(self._limits.idle_seconds)
        self._watch(self._receive)

    @property
    def is_waiting(self) -> bool:
        """Return whether the connection has neither an active request nor unsent data."""
        return self._phase in (_Phase.READING, _Phase.LEAVING) and not self._unsent

    def close(self) -> None:
        if self._phase is _Phase.CLOSED:
            return
        self._phase, self.reply = _Phase.CLOSED, None
        self._deadline.close()
        self._loop.unwatch(self._fd)
        self._socket.close()
        if self.note_unsent is not None:
            self.note_unsent(0)
        self._rules.forget(self)

    def _watch(self, call: Callback, events: int = READ) -> None:
        if self._watching != call:
            self._loop.watch(self._fd, call, events)
            self._watching = call

    def _handle_deadline(self) -> None:
        if self._phase is _Phase.READING and self._has_begun and not self._unsent:
            seconds = self._request_limit()
            message = f"the request was not complete within {seconds:.0f} s"
            self._refuse(BadRequestError(408, message))
        else:
            self.close()

    def _request_limit(self) -> float:
        limits = self._limits
        return limits.header_seconds if self._head is None else limits.request_seconds

    # Requests

    def _receive(self) -> None:
        """Read more data. Data after a request stays in the socket until that one is answered."""
        if self._phase is not _Phase.READING:
            self._look_for_end()
            return
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._received += data
            self._serve_received()
        else:
            self.close()

    def _look_for_end(self) -> None:
        """Detect a closed connection. A client that has sent more, or has stopped sending, can
        still wait for its response."""
        try:
            data = self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        self.has_input_ended = not data
        self._loop.unwatch(self._fd)
        self._watching = None

    def _serve_received(self) -> None:
        """Hand over the received requests. After a request that is answered during the call, the
        loop continues, without recursion."""
        if self._is_serving:
            return
        self._is_serving = True
        try:
            while self._received and self._phase is _Phase.READING and self._serve_next():
                pass
        except BadRequestError as error:
            self._refuse(error)
        finally:
            self._is_serving = False

    def _serve_next(self) -> bool:
        body = self._read_body() if self._read_head() else None
        if self._phase is not _Phase.READING:  # closed, because 100 Continue could not be sent
            return False
        if body is None or self._head is None or self._handler is None:
            self._await_rest()
            return False
        request, handler = ServedRequest(self._head, body), self._handler
        self._handler = self._head = self._body = None
        self._has_begun = False
        self._deadline.call_off()
        self._phase = _Phase.ANSWERING
        self.reply = Reply(self, request.head)
        handler.answer(request, self.reply)
        return True

    def _read_head(self) -> bool:
        """Read the headers, if they are not read yet, and check them before the body."""
        if self._head is not None:
            return True
        self._head = take_head(self._received, self._limits.header_bytes)
        if self._head is None:
            return False
        self._open_handler().admit(self._head)
        self._body = BodyReader(self._head.size, self._limits.body_bytes)
        if self._head.expects and self._head.size:
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _read_body(self) -> bytes | None:
        return self._body.take(self._received) if self._body is not None else None

    def _open_handler(self) -> RequestHandler:
        if self._handler is None:
            self._handler = self._rules.open_request(self.ends)
        return self._handler

    def _await_rest(self) -> None:
        now = time.monotonic()
        if not self._has_begun:
            self._has_begun, self.waits_since = True, now
        self._deadline.put_off(self.waits_since + self._request_limit() - now)

    def _refuse(self, error: BadRequestError) -> None:
        """Reject the request and close: later data cannot be trusted."""
        method = self._head.method if self._head is not None else error.method
        answer = self._open_handler().refuse(error)
        self._received.clear()
        self.finish(answer.as_bytes(keeps=False, with_body=method != "HEAD"), keeps=False)

    # Answers

    def finish(self, rest: bytes, *, keeps: bool) -> None:
        """Send the end of an answer."""
        if self._phase is _Phase.CLOSED:
            return
        self._phase, self._keeps = _Phase.FLUSHING, keeps
        self.reply = None
        self.send(rest)
        self._go_on()

    def _go_on(self) -> None:
        """Continue with the next request once the answer is sent."""
        if self._phase is not _Phase.FLUSHING or self._unsent:
            return
        self.note_unsent = None
        if not self._keeps:
            self._leave()
            return
        self._phase = _Phase.READING
        self.waits_since = time.monotonic()
        self._deadline.put_off(self._limits.idle_seconds)
        self._watch(self._receive)
        self._serve_received()

    def _leave(self) -> None:
        """Signal the end and let the client read the rest of the response."""
        self._phase = _Phase.LEAVING
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._watch(self._drain)
        self._deadline.put_off(self._limits.linger_seconds)

    def _drain(self) -> None:
        try:
            if self._socket.recv(_RECEIVE_BYTES):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.close()

    # Sent data

    def send(self, data: bytes) -> None:
        if self._phase is _Phase.CLOSED:
            return
        self._unsent += data
        # More data for a client that does not read does not extend its time.
        if self._watching != self._push_on:
            self._push()
        elif self.note_unsent is not None:
            self.note_unsent(len(self._unsent))

    def _push(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            self._watch(self._push_on, WRITE)
            self._deadline.put_off(self._limits.request_seconds)
        except OSError:
            self.close()
            return
        if self.note_unsent is not None:
            self.note_unsent(len(self._unsent))

    def _push_on(self) -> None:
        self._push()
        if self._unsent or self._phase is _Phase.CLOSED:
            return
        if self._phase is _Phase.FLUSHING:
            self._go_on()
            return
        self._watch(self._receive)
        if self._phase is _Phase.READING:
            self._await_rest()
        else:
            self._deadline.call_off()
