"""A daemon with a dashboard on a free port of this machine, in the process of the tests."""

import contextlib
import http.client
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.daemon.composition import build_application
from fabric.daemon.options import ServedProject, ServerKind
from fabric.daemon.process.order import ServeDoor, ServeOrder
from fabric.daemon.process.serving import EndingTimes, ServeTools, serve
from fabric.daemon.process.signal_queue import SignalQueue
from fabric.daemon.server.keys import KeyDigest
from tests.support.until import until
from tests.support.use_cases import Workplace

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
stages: {prod: {protected: true}}
functions:
  - {name: hello, entry: src/hello.py, triggers: [{type: http, path: /hello}]}
  - {name: other, entry: src/hello.py, triggers: [{type: http, path: /other}]}
"""
HANDLER = "def handler(event, context):\n    return 'hi'\n"
# Goes on once the file is there that it is given.
_PROVIDER = """\
import json, pathlib, sys, time
sys.stdin.read()
print("asked", file=sys.stderr, flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.02)
print(json.dumps({"endpoint": "https://shop.example/"}))
"""
_QUICK = EndingTimes(to_end=0.2, when_asked=0.2, when_cut=2.0, answers=2.0)


@dataclass
class ServedPage:
    shop: Workplace
    ports: list[int] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.ports[0]

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def ask(self, method: str, path: str, headers: Mapping[str, str] | None = None) -> "PageAnswer":
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(client):
            client.request(method, path, headers=dict(headers or {}))
            answer = client.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return PageAnswer(answer.status, told, answer.read())


@dataclass
class PageAnswer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def shop_in(folder: Path, **env: str) -> Workplace:
    made = Workplace(folder, env)
    made.write({"fabric.yml": CONFIG, "src/hello.py": HANDLER})
    return made


def waiting_shop(folder: Path) -> Workplace:
    """Its provider is real, and waits for the file `go`."""
    command = f"{sys.executable} {folder / 'provider.py'} {folder / 'go'}"
    made = shop_in(
        folder,
        FABRIC_CLOUD1_REAL_DEPLOY="1",
        FABRIC_CLOUD1_DEPLOY_CMD=command,
        FABRIC_CLOUD1_DESTROY_CMD=command,
    )
    made.write({"provider.py": _PROVIDER})
    return made


@contextlib.contextmanager
def dashboard(
    shop: Workplace, *digests: KeyDigest, is_shown: bool = True, port: int = 0
) -> Iterator[ServedPage]:
    found, ear = ServedPage(shop), SignalQueue()
    project = ServedProject(str(shop.root), dashboard=is_shown)
    order = ServeOrder(
        ServerKind.DAEMON,
        str(shop.root),
        project=project,
        digests=digests,
        door=ServeDoor(address="127.0.0.1", port=port),
    )

    def write(line: str) -> None:
        found.lines.append(json.loads(line))

    tools = ServeTools(build_application, ear.wait_for_signal, write, found.ports.append, _QUICK)
    thread = threading.Thread(target=serve, args=(order, shop.settings, tools))
    thread.start()
    until(lambda: bool(found.ports) or not thread.is_alive())
    try:
        yield found
    finally:
        ear.ring()
        ear.ring()
        thread.join()


class Relay:
    """Between a browser and a server: it hands on what comes, until it is cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._let_in)]
        self.said = b""
        self._threads[0].start()

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def cut(self) -> None:
        """All connections that are open now; new ones are handed on again."""
        for one in self._open:
            _end(one)

    def close(self) -> None:
        _end(self._listening)
        self._threads[0].join()
        self.cut()
        for thread in self._threads:
            thread.join()
        for one in (self._listening, *self._open):
            one.close()

    def _let_in(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listening.accept()[0]
                server = socket.create_connection(("127.0.0.1", self._target))
                self._open += [client, server]
                self._begin(self._ask, client, server)
                self._begin(self._answer, server, client)

    def _begin(self, hand_on: Callable[..., None], *sockets: socket.socket) -> None:
        self._threads.append(threading.Thread(target=hand_on, args=sockets))
        self._threads[-1].start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        for content in _all_of(client):
            self.said += content
            _send(server, content)
        _end(server)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        for content in _all_of(server):
            _send(client, content)
        _end(client)


def _all_of(one: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(OSError):
        while content := one.recv(1 << 16):
            yield content


def _send(one: socket.socket, content: bytes) -> None:
    with contextlib.suppress(OSError):
        one.sendall(content)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
