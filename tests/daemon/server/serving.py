"""A server on a free port of this machine, with a small application of its own."""

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from fabric.daemon.http_types import ApiAnswer, ApiCall, ApiRoute, Right, RouteDocs
from fabric.daemon.options import NetworkOptions
from fabric.daemon.server.access_log import LineLog
from fabric.daemon.server.api_server import ApiServer, ServerLimits, ServerParts
from fabric.daemon.server.gate import GateRules, RequestGate
from fabric.daemon.server.hosts import build_host_names
from fabric.daemon.server.keys import Keys
from fabric.daemon.server.route_table import ApiRouteTable
from fabric.system.clock import SystemClock
from fabric.system.http.wsgi import StartResponse

LIMITS = ServerLimits(threads=12)


def _nothing(_: ApiCall) -> ApiAnswer:
    return ApiAnswer(200, {"ok": True})


ROUTES = (
    ApiRoute(
        "GET",
        "/healthz",
        "health",
        Right.OPEN,
        _nothing,
        is_free=True,
        docs=RouteDocs(about="A test."),
    ),
    ApiRoute("GET", "/page", "page", Right.OPEN, _nothing, docs=RouteDocs(about="A test.")),
    ApiRoute("GET", "/wait", "wait", Right.LOOK, _nothing, docs=RouteDocs(about="A test.")),
    ApiRoute(
        "POST",
        "/wait",
        "long",
        Right.LOOK,
        _nothing,
        only_computes=True,
        docs=RouteDocs(about="A test."),
    ),
    ApiRoute("GET", "/readyz", "ready", Right.LOOK, _nothing, docs=RouteDocs(about="A test.")),
    ApiRoute(
        "POST",
        "/validate",
        "validate",
        Right.LOOK,
        _nothing,
        only_computes=True,
        docs=RouteDocs(about="A test."),
    ),
    ApiRoute("POST", "/deploy", "deploy", Right.CHANGE, _nothing, docs=RouteDocs(about="A test.")),
    ApiRoute("GET", "/runs/<run>", "run", Right.LOOK, _nothing, docs=RouteDocs(about="A test.")),
)


@dataclass
class Application:
    """Says what it was given. `/wait` answers once `go_on` is set, `/stream` bit by bit."""

    go_on: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)

    def __call__(self, environ: dict[str, Any], start: StartResponse) -> Iterable[bytes]:
        path, body = environ["PATH_INFO"], environ["wsgi.input"].read()
        self.asked.append(f"{environ['REQUEST_METHOD']} {path}")
        if path == "/fail":
            raise RuntimeError("a secret")
        if path == "/stream":
            start("200 OK", [("Content-Type", "text/event-stream")])
            return self._bits()
        if path == "/beats":
            start("200 OK", [("Content-Type", "text/event-stream")])
            return self._beats()
        if path == "/wait":
            self.go_on.wait(30)
        said = {"path": path, "size": len(body), "client": environ["fabric.admission"].client}
        text = json.dumps(said).encode()
        start("200 OK", [("Content-Type", "application/json")])
        return [text]

    def _beats(self) -> Iterator[bytes]:
        while not self.go_on.wait(0.01):
            yield b"beat"

    def _bits(self) -> Iterator[bytes]:
        yield b"first"
        self.go_on.wait(30)
        yield b"last"
        raise RuntimeError("in the middle")


@dataclass
class Serving:
    server: ApiServer
    app: Application
    log: list[dict[str, Any]]

    @property
    def port(self) -> int:
        return self.server.http.port

    def dial(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def ask(self, *parts: bytes) -> "Reply":
        """Bytes as they are, to the answer up to its end."""
        with self.dial() as client:
            for part in parts:
                client.sendall(part)
            return reply_in(all_of(client))


@dataclass
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """That of a failure: all of them have the one form."""
        assert self.headers["content-type"] == "application/json"
        document = self.json
        assert document.keys() == {"ok", "error", "code", "problems"}
        assert document["ok"] is False
        return str(document["code"])


def all_of(client: socket.socket) -> bytes:
    found = b""
    while chunk := client.recv(1 << 16):
        found += chunk
    return found


def reply_in(text: bytes) -> Reply:
    head, _, body = text.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    return Reply(int(lines[0].split()[1]), {k.lower(): v for k, v in headers.items()}, body)


def request(line: str = "GET /readyz", *headers: str, host: str = "localhost") -> bytes:
    """The head of a request after which the connection ends."""
    lines = (f"{line} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", "")
    return "\r\n".join(lines).encode("latin-1")


@contextlib.contextmanager
def serving(
    door: NetworkOptions | None = None,
    keys: Keys | None = None,
    limits: ServerLimits = LIMITS,
    *,
    shared: Callable[[str], bool] = lambda _: True,
) -> Iterator[Serving]:
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    asked = replace(door or NetworkOptions(), address="127.0.0.1")
    app, lines = Application(), list[dict[str, Any]]()
    log = LineLog(SystemClock(), lambda line: lines.append(json.loads(line)))
    names = build_host_names(asked.address, "here", asked.hosts)
    rules = GateRules(asked, keys or Keys(), names, ApiRouteTable(ROUTES), limits.body_bytes)
    gate, numbers = RequestGate(rules, log.clock.monotonic), itertools.count(1)
    parts = ServerParts(
        app=app,
        admit=gate.admit,
        log=log,
        new_id=lambda: f"r{next(numbers)}",
        shares_address=shared,
        limits=limits,
    )
    server = ApiServer(listening, parts)
    server.start()
    try:
        yield Serving(server, app, lines)
    finally:
        app.go_on.set()
        server.stop(5)
