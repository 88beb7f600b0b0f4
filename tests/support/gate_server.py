"""A cluster's gate as a process of this machine, before functions that are played by a test."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.bundler_cache import ENVIRONMENT
from tests.support.project import REPO
from tests.support.servers.process import free_port

_FILES = (
    REPO / "fabric" / "providers" / "cluster" / "gate" / "gate.mjs",
    REPO / "fabric" / "runtimes" / "nodejs" / "serving_routes.mjs",
    REPO / "fabric" / "runtimes" / "nodejs" / "serving_cors.mjs",
)
_SECONDS = 20


@dataclass
class PlayedCall:
    """One request that has come in, up to the end of its head."""

    connection: socket.socket
    head: str
    rest: bytes

    def send(self, text: str | bytes) -> None:
        self.connection.sendall(text.encode() if isinstance(text, str) else text)

    def read(self) -> bytes:
        """What comes next; empty where the other side has ended."""
        if self.rest:
            found, self.rest = self.rest, b""
            return found
        return self.connection.recv(65536)

    def headers(self, name: str) -> list[str]:
        lines = (line.partition(":") for line in self.head.splitlines()[1:])
        return [value.strip() for own, _, value in lines if own.lower() == name]


@dataclass
class PlayedFunction:
    """`connections` have come so far."""

    url: str
    calls: list[PlayedCall] = field(default_factory=list)
    connections: int = 0


OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@contextlib.contextmanager
def played(answer: Callable[[PlayedCall], None]) -> Iterator[PlayedFunction]:
    """`answer` is told each request in turn; one that is answered may be followed by another."""

    class Played(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            made.connections += 1
            with contextlib.suppress(OSError):
                while call := _next_call(self.request):
                    made.calls.append(call)
                    answer(call)

    class Listening(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Listening(("127.0.0.1", 0), Played) as server:
        made = PlayedFunction(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()


def _next_call(connection: socket.socket) -> PlayedCall | None:
    content = b""
    while b"\r\n\r\n" not in content:
        more = connection.recv(65536)
        if not more:
            return None
        content += more
    head, _, rest = content.partition(b"\r\n\r\n")
    return PlayedCall(connection, head.decode("latin-1"), rest)


@dataclass
class RunningGate:
    port: int
    child: subprocess.Popen[bytes]
    log_file: Path

    def connection(self) -> contextlib.closing[http.client.HTTPConnection]:
        return contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        )

    def ask(self, method: str, path: str, **more: Any) -> tuple[int, bytes]:
        with self.connection() as made:
            made.request(method, path, **more)
            answer = made.getresponse()
            return answer.status, answer.read()

    def is_ready(self) -> bool:
        try:
            return self.ask("GET", "/.fabric/ready")[0] == 200
        except OSError:
            return False

    def end(self) -> None:
        self.child.send_signal(signal.SIGTERM)


def route(url: str, path: str = "/x", method: str = "ANY", seconds: int = 0) -> dict[str, object]:
    return {"method": method, "path": path, "url": url, "seconds": seconds}


@contextlib.contextmanager
def gate(folder: Path, *routes: dict[str, object], margin: float = 5) -> Iterator[RunningGate]:
    own = folder / "gate"
    own.mkdir()
    for file in _FILES:
        shutil.copy(file, own)
    said: dict[str, Sequence[object] | float] = {"routes": routes, "drain": 0.1, "margin": margin}
    (own / "routes.json").write_text(json.dumps(said))
    port = free_port()
    with (own / "log").open("ab") as log:
        argv = ["node", str(own / "gate.mjs")]
        env = {"PATH": ENVIRONMENT["PATH"], "PORT": str(port)}
        child = subprocess.Popen(argv, env=env, stdout=log, stderr=log, start_new_session=True)
    made = RunningGate(port, child, own / "log")
    try:
        deadline = time.monotonic() + _SECONDS
        while not made.is_ready():
            assert child.poll() is None, made.log_file.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield made
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
