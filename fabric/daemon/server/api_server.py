"""The HTTP server of the API, in a separate thread."""

import re
import socket
import threading
from collections.abc import Callable, Mapping
from email.utils import format_datetime
from functools import partial
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from fabric.daemon.server.access_log import AccessLine, LineLog
from fabric.daemon.server.answers import (
    busy_answer,
    complete_headers,
    internal_error_answer,
    parse_error_answer,
    serve_answer,
)
from fabric.daemon.server.gate import ADMISSION, Admission, CallHead
from fabric.system.event_loop import EventLoop
from fabric.system.http.answers import ServedAnswer
from fabric.system.http.connection import ConnectionEnds, HttpLimits, Reply
from fabric.system.http.requests import BadRequestError, Headers, RequestHead, ServedRequest
from fabric.system.http.server import HttpServer, HttpService
from fabric.system.http.wsgi import (
    ClientGoneError,
    ThreadPool,
    Wsgi,
    WsgiResponse,
    build_environ,
)

# Descriptors for other uses: files, child processes, and connections to stores.
_OTHER_FILES = 256
_FEWEST = 64
_HEARTBEAT_SECONDS = 0.5
_LONGEST_PATH = 1000
_ONCE = ("x-api-key", "origin")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


class ServerLimits(HttpLimits, frozen=True, kw_only=True):
    """Limits with threads for 16 quick requests, 32 streams and 72 waiting callers."""

    threads: int = 120
    # Pure computations have their own threads, because more threads compete for the interpreter.
    computing_threads: int = 2
    connections: int = 2500
    idle_per_address: int = 64
    header_bytes: int = 16 * 1024
    body_bytes: int = 1024 * 1024
    header_seconds: float = 10.0
    idle_seconds: float = 15.0


def compute_connection_limit(limits: ServerLimits, descriptors: int) -> int:
    """Compute how many connections fit beside the other open files."""
    return max(_FEWEST, min(limits.connections, descriptors - _OTHER_FILES))


class ServerParts(Struct, frozen=True, kw_only=True):
    """The parts of a server."""

    app: Wsgi
    admit: Callable[[CallHead, str], Admission]
    log: LineLog
    new_id: Callable[[], str]
    # Whether many clients share an address.
    shares_address: Callable[[str], bool]
    limits: ServerLimits = ServerLimits()


class ApiServer:
    """Connections belong to the thread of `start`; answers are computed in other threads."""

    def __init__(self, listening: socket.socket, parts: ServerParts) -> None:
        self.parts, self.loop = parts, EventLoop()
        limits, report = parts.limits, partial(parts.log.write_failure, "")
        self.threads = ThreadPool(limits.threads, "fabric-http-answer", report)
        self.computing = ThreadPool(limits.computing_threads, "fabric-http-compute", report)
        busy = serve_answer(busy_answer(), {})
        service = HttpService(partial(ApiRequest, self), busy, parts.shares_address)
        self.http = HttpServer(self.loop, listening, service, limits)
        self._is_over = False
        # Grows while the loop handles events.
        self.turns = 0
        self._thread = threading.Thread(target=self._run, name="fabric-http", daemon=True)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._count_turn()
        self._thread.start()

    def stop_listening(self) -> None:
        """Accept no new connections. Existing ones are served."""
        self.loop.post(self.http.stop_listening)

    def stop(self, seconds: float) -> None:
        """Stop, and cut off answers that are not finished by then."""
        self._is_over = True
        self.loop.post(lambda: None)
        self._thread.join()
        self.http.close()
        self.computing.close(seconds)
        self.threads.close(seconds)
        self.loop.close()

    def _run(self) -> None:
        while not self._is_over:
            try:
                self.loop.turn()
            except Exception as error:  # noqa: BLE001 - one connection ends no server
                self.parts.log.write_failure("", error)

    def _count_turn(self) -> None:
        self.turns += 1
        self.loop.later(_HEARTBEAT_SECONDS, self._count_turn)


class ApiRequest:
    """One request, also a rejected or malformed one: from its headers to its log line."""

    def __init__(self, server: ApiServer, ends: ConnectionEnds) -> None:
        self._server, self._parts, self._ends = server, server.parts, ends
        self._admission = Admission(self._parts.new_id(), ends.peer)
        self._began = self._parts.log.clock.monotonic()
        self._method = self._path = self._traceparent = ""

    def admit(self, head: RequestHead) -> None:
        """Check the path and the caller. A body that is announced too large comes with headers that
        are checked first."""
        self._method = head.method
        # As Latin-1, the form of WSGI.
        self._path = unquote_to_bytes(head.path).decode("latin-1")
        if not _is_plain(self._path):
            raise BadRequestError(400, "invalid path")
        call = CallHead(
            method=head.method,
            path=self._path,
            headers=_index_headers(head.headers),
            peer=self._ends.peer,
            local=self._ends.local,
            length=max(0, head.size),
        )
        self._admission = self._parts.admit(call, self._admission.id)
        if self._admission.refused:
            raise BadRequestError(self._admission.refused.status, "not admitted")

    def answer(self, request: ServedRequest, reply: Reply) -> None:
        # Unverified and used for traces only.
        self._traceparent = request.head.header("traceparent")
        computes = self._admission.only_computes
        threads = self._server.computing if computes else self._server.threads
        threads.submit(partial(self._respond, request, reply))

    def refuse(self, error: BadRequestError) -> ServedAnswer:
        if not self._method:
            self._method, self._path = error.method, error.target.partition("?")[0]
        limits = self._parts.limits
        refused = self._admission.refused or parse_error_answer(error, limits.body_bytes)
        answer = serve_answer(refused, self._own_headers())
        self._write_line(answer.status, len(answer.body))
        return answer

    def _respond(self, request: ServedRequest, reply: Reply) -> None:
        """Compute the answer, in a thread. Its log line is written before it is sent."""
        self._began = self._parts.log.clock.monotonic()
        headers = self._own_headers()
        response = WsgiResponse(
            self._server.loop, reply, lambda given: complete_headers(given, headers)
        )
        answer = self._compute(request, response)
        try:
            self._write_line(response.status, response.size)
        finally:
            if answer is not None:
                self._server.loop.post(partial(reply, answer))

    def _compute(self, request: ServedRequest, response: WsgiResponse) -> ServedAnswer | None:
        environ = {**build_environ(request, self._ends), ADMISSION: self._admission}
        try:
            return response.compute(self._parts.app, environ)
        except ClientGoneError:
            return None
        except Exception as error:  # noqa: BLE001 - where failures of the application become answers
            self._parts.log.write_failure(self._admission.id, error)
            return response.fail(serve_answer(internal_error_answer(self._admission.id), {}))

    def _own_headers(self) -> Mapping[str, str]:
        date = format_datetime(self._parts.log.clock.now(), usegmt=True)
        return {**self._admission.headers, "X-Request-Id": self._admission.id, "Date": date}

    def _write_line(self, status: int, size: int) -> None:
        known, log = self._admission, self._parts.log
        log.write_response(
            AccessLine(
                id=known.id,
                client=known.client,
                method=self._method,
                path=self._path[:_LONGEST_PATH],
                route=known.route,
                status=status,
                ms=round((log.clock.monotonic() - self._began) * 1000, 1),
                bytes=size,
                traceparent=self._traceparent,
            )
        )


def _is_plain(path: str) -> bool:
    """Return whether the path is in normal form, so that gate and router see the same path."""
    try:
        text = path.encode("latin-1").decode()
    except UnicodeError:
        return False
    return path.startswith("/") and not path.startswith("//") and not _UNPRINTABLE.search(text)


def _index_headers(headers: Headers) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        if name in found and name in _ONCE:
            raise BadRequestError(400, f"duplicate header {name}")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
