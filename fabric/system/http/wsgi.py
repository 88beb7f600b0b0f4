"""Answers of a WSGI application, computed in threads and sent by the loop's thread."""

import collections
import io
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from fabric.system.event_loop import Callback, EventLoop
from fabric.system.http.answers import ServedAnswer
from fabric.system.http.connection import ConnectionEnds, Reply
from fabric.system.http.requests import Headers, ServedRequest

StartResponse: TypeAlias = Callable[..., object]
Wsgi: TypeAlias = Callable[[dict[str, object], StartResponse], Iterable[bytes]]
# More unsent data of one answer blocks its writer.
_MOST_UNSENT = 1024 * 1024
_LOOK_SECONDS = 1.0


class ClientGoneError(Exception):
    """The client of an answer in parts has closed its connection."""


class ThreadPool:
    """Threads that are started when they are needed, and do not delay the end of the process.
    `report` receives unexpected errors."""

    def __init__(self, most: int, name: str, report: Callable[[BaseException], None]) -> None:
        self._most, self._name, self._report = most, name, report
        self._changed = threading.Condition()
        self._calls: collections.deque[Callback] = collections.deque()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._is_over = False

    def submit(self, call: Callback) -> None:
        with self._changed:
            self._calls.append(call)
            if self._idle >= len(self._calls):
                self._changed.notify()
            elif len(self._threads) < self._most:
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def close(self, seconds: float) -> None:
        """Discard waiting calls, and wait for the active ones for up to this time."""
        with self._changed:
            self._is_over = True
            self._calls.clear()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._idle == len(self._threads), seconds)

    def _work(self) -> None:
        while call := self._wait_for_call():
            try:
                call()
            except Exception as error:  # noqa: BLE001 - one call ends no thread
                self._report(error)

    def _wait_for_call(self) -> Callback | None:
        with self._changed:
            self._idle += 1
            if self._is_over:
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._calls or self._is_over)
            if self._is_over:
                return None
            self._idle -= 1
            return self._calls.popleft()


class AnswerStream:
    """An answer in parts, written by one thread. A slow reader blocks the writer, and the end of
    the connection ends it."""

    def __init__(self, loop: EventLoop, reply: Reply, answer: ServedAnswer) -> None:
        self._loop, self._reply = loop, reply
        self._changed = threading.Condition()
        # Bytes on the way to the loop's thread, and those that the socket does not accept yet.
        self._posted = self._unsent = 0
        loop.post(partial(reply.begin, answer, self._note_unsent))

    def write(self, part: bytes) -> None:
        with self._changed:
            while self._posted + self._unsent > _MOST_UNSENT and not self._reply.is_over:
                self._changed.wait(_LOOK_SECONDS)
            if self._reply.is_over:
                raise ClientGoneError
            self._posted += len(part)
        self._loop.post(partial(self._send, part))

    def end(self, *, is_complete: bool = True) -> None:
        self._loop.post(partial(self._reply.end, is_complete=is_complete))

    def _send(self, part: bytes) -> None:
        self._reply.send_part(part)
        with self._changed:
            self._posted -= len(part)
            self._changed.notify()

    def _note_unsent(self, size: int) -> None:
        with self._changed:
            self._unsent = size
            self._changed.notify()


class WsgiResponse:
    """The response of an application to one request. `complete` adds to its headers."""

    def __init__(
        self, loop: EventLoop, reply: Reply, complete: Callable[[Headers], Headers]
    ) -> None:
        self._loop, self._reply, self._complete = loop, reply, complete
        self._head = ServedAnswer(500)
        self._stream: AnswerStream | None = None
        # The number of bytes of the body.
        self.size = 0

    @property
    def status(self) -> int:
        return self._head.status

    def compute(self, app: Wsgi, environ: dict[str, object]) -> ServedAnswer | None:
        """Call the application and return its answer, or send one in parts. Raises its errors."""
        parts = app(environ, self._start)
        try:
            if isinstance(parts, Sequence):
                return self.build_answer(b"".join(parts))
            for part in parts:
                self._write(part)
        finally:
            close = getattr(parts, "close", None)
            if close is not None:
                close()
        if self._stream is None:
            return self.build_answer(b"")
        self._stream.end()
        return None

    def fail(self, answer: ServedAnswer) -> ServedAnswer | None:
        """Return the answer to a failed request. A stream is cut off, so that it is not taken for
        a whole answer."""
        if self._stream is not None:
            self._stream.end(is_complete=False)
            return None
        self._head = ServedAnswer(answer.status, answer.headers)
        return self.build_answer(answer.body)

    def build_answer(self, body: bytes) -> ServedAnswer:
        self.size = len(body)
        return ServedAnswer(self._head.status, self._complete(self._head.headers), body)

    def _start(
        self, status: str, headers: Sequence[tuple[str, str]], exc_info: object = None
    ) -> None:
        """Note the head. `exc_info` is that of WSGI: an earlier head is replaced."""
        del exc_info
        is_head = not self._reply.has_body
        kept = tuple(one for one in headers if is_head or one[0].lower() != "content-length")
        if any(sign in text for pair in kept for text in pair for sign in "\r\n"):
            raise ValueError("a response header contains a line break")
        self._head = ServedAnswer(int(status[:3]), kept)

    def _write(self, part: bytes) -> None:
        if self._stream is None:
            self._stream = AnswerStream(self._loop, self._reply, self.build_answer(b""))
        self._stream.write(part)
        self.size += len(part)


def build_environ(request: ServedRequest, ends: ConnectionEnds) -> dict[str, object]:
    """Build the WSGI environment. Header names with `_` are omitted, because they would be mistaken
    for others."""
    head = request.head
    environ: dict[str, object] = {
        "REQUEST_METHOD": head.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(head.path).decode("latin-1"),
        "QUERY_STRING": head.query,
        "SERVER_NAME": ends.local,
        "SERVER_PORT": str(ends.port),
        "SERVER_PROTOCOL": "HTTP/1.1" if head.is_new else "HTTP/1.0",
        "REMOTE_ADDR": ends.peer,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }
    for name, value in head.headers:
        if "_" not in name and name not in ("content-length", "transfer-encoding"):
            key = name.upper().replace("-", "_")
            key = key if name == "content-type" else f"HTTP_{key}"
            environ[key] = f"{environ[key]}, {value}" if key in environ else value
    if head.size:
        environ["CONTENT_LENGTH"] = str(len(request.body))
    return environ
