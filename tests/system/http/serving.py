"""A server on a free port of this machine, with a small service of the test's own."""

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from fabric.system.event_loop import EventLoop
from fabric.system.http.answers import ServedAnswer, build_json_answer
from fabric.system.http.connection import ConnectionEnds, HttpLimits, Reply
from fabric.system.http.listening import bind_socket
from fabric.system.http.requests import BadRequestError, RequestHead, ServedRequest
from fabric.system.http.server import HttpServer, HttpService
from fabric.system.http.wsgi import (
    ClientGoneError,
    StartResponse,
    ThreadPool,
    WsgiResponse,
    build_environ,
)
from tests.support.until import until

LAST = "Connection: close"


@dataclass
class Echo:
    """Answers with what it was asked; a request to `/wait` when `go_on` is called, and those below
    `/app` with the application, in a thread."""

    loop: EventLoop
    threads: ThreadPool
    answered: list[str] = field(default_factory=list)
    waiting: list[Reply] = field(default_factory=list)
    refused: list[BadRequestError] = field(default_factory=list)
    responses: list[WsgiResponse] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    bits: threading.Event = field(default_factory=threading.Event)
    ends: ConnectionEnds = field(default_factory=lambda: ConnectionEnds(""))

    def open_request(self, ends: ConnectionEnds) -> "Echo":
        self.ends = ends
        return self

    def admit(self, head: RequestHead) -> None:
        if head.path == "/secret":
            raise BadRequestError(401, "secret")

    def refuse(self, error: BadRequestError) -> ServedAnswer:
        self.refused.append(error)
        return build_json_answer(error.status, {"message": error.message})

    def answer(self, request: ServedRequest, reply: Reply) -> None:
        head = request.head
        self.answered.append(head.target)
        if head.path == "/wait":
            self.waiting.append(reply)
        elif head.path == "/large":
            reply(ServedAnswer(200, (), b"x" * 20_000_000))
        elif head.path == "/drip":
            reply.begin(ServedAnswer(200), lambda _: None)
            reply.send_part(b"x" * 20_000_000)
            self._drip(reply)
        elif head.path.startswith("/app/"):
            self.threads.submit(partial(self._respond, request, reply))
        else:
            size = len(request.body)
            reply(
                build_json_answer(200, {"method": head.method, "target": head.target, "size": size})
            )

    def _drip(self, reply: Reply) -> None:
        reply.send_part(b"beat")
        if not reply.is_over:
            self.loop.later(0.01, partial(self._drip, reply))

    def go_on(self) -> None:
        for reply in self.waiting:
            self.loop.post(partial(reply, ServedAnswer(200, (), b"late")))

    def _respond(self, request: ServedRequest, reply: Reply) -> None:
        response = WsgiResponse(self.loop, reply, lambda given: (*given, ("X-More", "1")))
        self.responses.append(response)
        try:
            answer = response.compute(self._app, build_environ(request, self.ends))
        except ClientGoneError:
            answer = None
        except RuntimeError:
            answer = response.fail(build_json_answer(500, {"message": "failed"}))
        if answer is not None:
            self.loop.post(partial(reply, answer))

    def _app(self, environ: dict[str, object], start: StartResponse) -> Iterable[bytes]:
        path = str(environ["PATH_INFO"]).removeprefix("/app/")
        start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
        if path == "fails":
            raise RuntimeError
        if path == "injects":
            start("200 OK", [("X-One", "1\r\nX-Two: 2")])
        streams = {"bits": self._bits, "beats": self._beats, "endless": self._endless}
        if path in streams:
            return streams[path]()
        if path == "environ":
            return [repr({k: v for k, v in sorted(environ.items()) if "." not in k}).encode()]
        return (
            []
            if environ["REQUEST_METHOD"] == "HEAD"
            else [b"wh", b"ole"]
            if path == "whole"
            else iter(())
        )

    def _bits(self) -> Iterator[bytes]:
        try:
            yield b"first"
            self.bits.wait(30)
            yield b""
            yield b"last"
            if self.bits.is_set():
                raise RuntimeError
        finally:
            self.ended.append("bits")

    def _beats(self) -> Iterator[bytes]:
        try:
            while not self.bits.wait(0.01):
                yield b"beat"
            yield b"end"
        finally:
            self.ended.append("beats")

    def _endless(self) -> Iterator[bytes]:
        try:
            yield from itertools.repeat(b"x" * 1_000_000)
        finally:
            self.ended.append("endless")


@dataclass
class Serving:
    server: HttpServer
    echo: Echo

    def dial(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.server.port), timeout=30)

    def ask(self, *parts: bytes) -> bytes:
        """Bytes as they are, to the answer up to its end."""
        with self.dial() as client:
            for part in parts:
                client.sendall(part)
            return all_of(client)

    def idle(self, count: int) -> list[socket.socket]:
        """Connections without a request."""
        found = [self.dial() for _ in range(count)]
        until(lambda: len(self.server) == count)
        return found


def all_of(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(1 << 16), b""))


def request(path: str = "/", *more: str, method: str = "GET", version: str = "1.1") -> bytes:
    lines = (f"{method} {path} HTTP/{version}", "Host: localhost", *more, "", "")
    return "\r\n".join(lines).encode()


@contextlib.contextmanager
def serving(
    limits: HttpLimits | None = None, shared: Callable[[str], bool] = lambda _: True
) -> Iterator[Serving]:
    loop, threads = EventLoop(), ThreadPool(4, "answers", list[BaseException]().append)
    echo = Echo(loop, threads)
    service = HttpService(echo.open_request, build_json_answer(503, {"message": "busy"}), shared)
    server = HttpServer(loop, bind_socket("127.0.0.1", 0), service, limits)
    over: list[bool] = []
    thread = threading.Thread(target=loop.run_until, args=(lambda: bool(over),))
    thread.start()
    try:
        yield Serving(server, echo)
    finally:
        echo.bits.set()
        loop.post(lambda: over.append(True))
        thread.join()
        server.close()
        threads.close(5)
        loop.close()
