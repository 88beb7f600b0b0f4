"""A server from its start to its end, in the main thread of a process."""

import contextlib
import os
import resource
import socket
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.daemon.application import (
    AppFactory,
    Application,
    RunsUnderWay,
    ServerLife,
    ServerSurroundings,
)
from fabric.daemon.process.listening import listen
from fabric.daemon.process.order import OWN_VARIABLES, ServeOrder
from fabric.daemon.server.access_log import LineLog
from fabric.daemon.server.api_server import (
    ApiServer,
    ServerLimits,
    ServerParts,
    compute_connection_limit,
)
from fabric.daemon.server.clients import is_loopback, is_proxy
from fabric.daemon.server.gate import GateRules, RequestGate
from fabric.daemon.server.hosts import build_host_names
from fabric.daemon.server.route_table import ApiRouteTable
from fabric.manifest import VERSION
from fabric.model.problems import FabricError, Problem

# The shutdown of a server in steps: wait for runs, request their end, abort them.


_LOOK = 0.05
# Whether another signal came within so many seconds.
Heard = Callable[[float], bool]
_SELDOM = 3600.0


class EndingTimes(Struct, frozen=True):
    """Wait times in seconds: for runs, after the stop request, after killing children, and for
    answers."""

    to_end: float = 30.0
    when_asked: float = 10.0
    when_cut: float = 5.0
    answers: float = 5.0


def shut_down(life: ServerLife, runs: RunsUnderWay, heard: Heard, times: EndingTimes) -> None:
    """Shut down. Requests are served meanwhile. Each further signal skips to the next step."""
    life.is_draining = True
    runs.drain()
    if _wait_until_over(lambda: not runs.under_way(), heard, times.to_end):
        return
    runs.ask_all_to_stop()
    if _wait_until_over(lambda: not runs.under_way(), heard, times.when_asked):
        return
    runs.cut_all()
    _wait_until_over(lambda: not runs.under_way(), heard, times.when_cut)


def _close_server(server: ApiServer, heard: Heard, times: EndingTimes) -> None:
    """Stop accepting connections and finish the current answers."""
    server.stop_listening()
    _wait_until_over(lambda: not server.http.in_flight, heard, times.answers)
    server.stop(1.0)


def _wait_until_over(is_over: Callable[[], bool], heard: Heard, seconds: float) -> bool:
    """Wait until it is over, a signal arrives or time is up. Returns whether it is over."""
    for _ in range(round(seconds / _LOOK)):
        if is_over():
            return True
        if heard(_LOOK):
            break
    return is_over()


class ServiceManager:
    """Sends status messages; none without a socket in `NOTIFY_SOCKET`."""

    def __init__(self, env: Mapping[str, str]) -> None:
        path = env.get("NOTIFY_SOCKET", "")
        self._path = f"\0{path[1:]}" if path.startswith("@") else path
        is_ours = env.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        micros = env.get("WATCHDOG_USEC", "") if is_ours else ""
        self._watched = bool(self._path) and micros.isdigit() and int(micros) > 0
        # Twice within the time after which it would be taken for dead.
        self.beat_seconds = int(micros) / 2_000_000 if self._watched else _SELDOM

    def say(self, words: str) -> None:
        if not self._path:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
            way.connect(self._path)
            way.send(words.encode())

    def beat(self) -> None:
        if self._watched:
            self.say("WATCHDOG=1")


_FILES_WANTED = 4096
_ID_BYTES = 8
_TURN = 1.0


class TurningServer(Protocol):
    """A server. `turns` grows while its main loop is running."""

    @property
    def is_alive(self) -> bool: ...
    @property
    def turns(self) -> int: ...


class ServeTools(Struct, frozen=True):
    """The tools of a server."""

    make: AppFactory
    heard: Heard
    write: Callable[[str], None]
    # Called with the port once it serves.
    ready: Callable[[int], None]
    times: EndingTimes = EndingTimes()
    limits: ServerLimits = ServerLimits()


def serve(order: ServeOrder, settings: Settings, tools: ServeTools) -> None:
    """Serve until stopped. Problems are reported before anything listens."""
    log = LineLog(settings.clock, tools.write)
    options, life = order.options, ServerLife()
    around = ServerSurroundings(
        options=options,
        settings=remove_server_keys(settings),
        life=life,
        log=log,
        has_keys=bool(order.keys),
        is_insecure=order.is_insecure,
    )
    app = tools.make(around)
    with contextlib.closing(listen(order.door.address, order.door.port)) as listening:
        server = ApiServer(listening, _build_parts(order, around, app, tools.limits))
        server.start()
        manager = ServiceManager(settings.env)
        tools.ready(server.http.port)
        log.say("started", version=VERSION, address=order.door.address, port=server.http.port)
        manager.say("READY=1")
        wait_for_end(server, tools.heard, manager)
        log.say("stopping", runs=app.runs.under_way())
        manager.say("STOPPING=1")
        shut_down(life, app.runs, tools.heard, tools.times)
        _close_server(server, tools.heard, tools.times)
        app.close()
        log.say("stopped")


def remove_server_keys(settings: Settings) -> Settings:
    """Remove the server's own keys, so that no config, command or function receives them."""
    env = {name: text for name, text in settings.env.items() if name not in OWN_VARIABLES}
    return replace(settings, env=env)


def _build_parts(
    order: ServeOrder, around: ServerSurroundings, app: Application, limits: ServerLimits
) -> ServerParts:
    door, log = around.options.door, around.log
    own = socket.gethostname().lower()
    hosts = build_host_names(door.address, own, door.hosts, has_keys=around.has_keys)
    routes = ApiRouteTable(app.routes)
    rules = GateRules(
        door=door,
        keys=order.keys,
        hosts=hosts,
        routes=routes,
        body_bytes=limits.body_bytes,
        sessions=app.sessions,
    )
    return ServerParts(
        app=app.wsgi,
        admit=RequestGate(rules, log.clock.monotonic).admit,
        log=log,
        new_id=lambda: around.settings.chance(_ID_BYTES),
        shares_address=lambda peer: is_loopback(peer) or is_proxy(peer, door.proxies),
        limits=replace(limits, connections=compute_connection_limit(limits, _raise_file_limit())),
    )


def _raise_file_limit() -> int:
    """Raise the limit of open files as needed, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES_WANTED if hard == resource.RLIM_INFINITY else min(_FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return _FILES_WANTED if soft == resource.RLIM_INFINITY else soft


def wait_for_end(server: TurningServer, heard: Heard, manager: ServiceManager) -> None:
    """Wait for the end. A server whose main loop is stuck is no longer reported as alive."""
    turns = -1
    while not heard(min(_TURN, manager.beat_seconds)):
        if not server.is_alive:
            problem = Problem(
                "internal/server-ended", "the server stopped unexpectedly", "see .fabric/daemon.log"
            )
            raise FabricError(problem)
        if server.turns != turns:
            turns = server.turns
            manager.beat()
