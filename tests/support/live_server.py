"""The servers as they are put together, in threads of this process, at a port of their own."""

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.daemon.composition import build_application
from fabric.daemon.options import ServedProject, ServerKind
from fabric.daemon.process.order import ServeDoor, ServeOrder
from fabric.daemon.process.serving import EndingTimes, ServeTools, serve
from fabric.daemon.process.signal_queue import SignalQueue
from fabric.daemon.server.keys import hash_server_key
from tests.support.until import until

_TIMES = EndingTimes(to_end=0.2, when_asked=2.0, when_cut=2.0, answers=1.0)


@dataclass
class LiveServer:
    """`log` is what it said of its work."""

    ports: list[int] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}"

    def client(self, key: str = "") -> httpx.Client:
        headers = {"X-API-Key": key} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)


def order_of(settings: Settings, kind: ServerKind = ServerKind.DAEMON) -> ServeOrder:
    folder = str(settings.cwd)
    return ServeOrder(
        kind, folder, project=ServedProject(folder), door=ServeDoor(address="127.0.0.1", port=0)
    )


@contextlib.contextmanager
def live_server(
    settings: Settings, order: ServeOrder, keys: Sequence[str] = ()
) -> Iterator[LiveServer]:
    found, ear = LiveServer(), SignalQueue()
    digests = tuple(hash_server_key(key, "a key file") for key in keys)
    order = replace(order, digests=digests)

    def write(line: str) -> None:
        found.log.append(json.loads(line))

    tools = ServeTools(build_application, ear.wait_for_signal, write, found.ports.append, _TIMES)
    thread = threading.Thread(target=serve, args=(order, settings, tools))
    thread.start()
    until(lambda: bool(found.ports) or not thread.is_alive())
    try:
        yield found
    finally:
        ear.ring()
        thread.join()
