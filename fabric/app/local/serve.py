"""`invoke local --serve`: serve the functions of a service over HTTP until stopped."""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.local.rebuilds import LocalBuild, Round, open_first_build
from fabric.app.local.service import LocalService
from fabric.app.observing.noted_calls import open_local_calls
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.engine.bus import MakeListeners
from fabric.local.access import TokenKeys
from fabric.local.api import LocalApi, ServedFunctions, Surroundings
from fabric.local.exchange import ServedCall
from fabric.local.http_service import TunnelEnd, build_local_service, listen
from fabric.local.routes import RouteTable
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.outcomes.queried import ServedOutcome
from fabric.model.report import Report
from fabric.runtimes.calls.call_end import CallEnd
from fabric.runtimes.calls.pool import HandlerPool, PoolLimits
from fabric.system.event_loop import EventLoop
from fabric.system.http.server import HttpServer

HOST = "127.0.0.1"


class ServeOptions(Struct, frozen=True):
    """Options of the server. Request events are merged into `template`.

    With a `tunnel` requests also come from outside.
    """

    port: int = 8787
    watch: bool = False
    template: JsonObject = {}
    # Limits the processes per function.
    instances: int = 4
    tunnel: TunnelEnd | None = None
    # The public keys of JWT authorizers.
    keys: TokenKeys | None = None


class ServeListeners(Struct, frozen=True):
    """Callbacks for the address and routes, each call, and each new build."""

    ready: Callable[[str, LocalService], None]
    call: Callable[[ServedCall], None]
    rebuilt: Callable[[Round], None]


def serve(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    options: ServeOptions,
    hearers: ServeListeners,
) -> Report:
    with serve_functions(request, settings, make_listeners, options, hearers) as served:
        served.run()
    return Report(request.command, served.outcome, warnings=served.warnings)


@contextlib.contextmanager
def serve_functions(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    options: ServeOptions,
    hearers: ServeListeners,
) -> Iterator["ServedService"]:
    """Serve the functions. The port is opened first, so that nothing is built in vain."""
    listening = listen(HOST, options.port)
    building = open_first_build(request, settings, make_listeners, watch=options.watch)
    with contextlib.closing(listening), building as first:
        served = ServedService(first, settings, options, hearers)
        with (
            served.listening_at(listening),
            first.rebuilt(served.loop, served.take, watch=options.watch),
        ):
            yield served


class ServedService:
    """The open resources while functions are served. `asked_to_end` stops it, unless another
    handler is set."""

    def __init__(
        self, first: LocalBuild, settings: Settings, options: ServeOptions, hearers: ServeListeners
    ) -> None:
        self.loop = EventLoop()
        limits = PoolLimits(options.instances)
        self._pool = HandlerPool(self.loop, settings.env, limits, self._report_child_exit)
        self._service = first.service
        self._notes = open_local_calls(first.project, settings)
        self._hearers = hearers
        self._port = options.port
        self._calls = self._failed = 0
        self._is_over = False
        self.asked_to_end: Callable[[], None] = self.end
        self.warnings = first.warnings
        around = Surroundings(
            settings.clock.now,
            lambda: settings.chance(8),
            self._report_call,
            template=options.template,
            tunnel=options.tunnel,
            keys=options.keys,
        )
        self._hosts = frozenset({options.tunnel.host} if options.tunnel else ())
        self._api = LocalApi(self._pool, _build_served_functions(first.service), around)
        self._put(first.service)

    @contextlib.contextmanager
    def listening_at(self, listening: socket.socket) -> Iterator[None]:
        server = HttpServer(
            self.loop, listening, build_local_service(self._api.answer, self._hosts)
        )
        self._port = server.port
        try:
            with (
                stop_on_signal(lambda: self.asked_to_end()),
                read_typed_lines(self._handle_typed_line, ignore_end),
            ):
                self._hearers.ready(self.url, self._service)
                yield
        finally:
            server.close()
            self._pool.close()
            self.loop.close()
            self._notes.close()

    def run(self) -> None:
        self.loop.run_until(lambda: self._is_over)

    def end(self) -> None:
        self._is_over = True
        self.loop.post(lambda: None)

    def _handle_typed_line(self, line: str) -> None:
        if line == EXIT:
            self.asked_to_end()

    def take(self, found: Round) -> None:
        """Switch to a rebuilt service. Called by the event loop."""
        if found.service is not None:
            self._service = found.service
            self._api.functions = _build_served_functions(found.service)
            self._put(found.service)
        elif found.problems:
            broken = dict.fromkeys(self._api.functions.memory, found.problems[0])
            self._api.functions = replace(self._api.functions, broken=broken)
        self._hearers.rebuilt(found)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    @property
    def outcome(self) -> ServedOutcome:
        return ServedOutcome(self.url, self._calls, self._failed)

    def _put(self, service: LocalService) -> None:
        for one in service.functions.values():
            self._pool.put(one)
        for name in self._pool.pids.keys() - service.memory.keys():
            self._pool.drop(name)

    def _report_call(self, call: ServedCall) -> None:
        self._calls += 1
        self._failed += call.status >= 500  # noqa: PLR2004 - from here on HTTP says that we failed
        if call.function:
            self._notes.note(call.function, call.end)
        self._hearers.call(call)

    def _report_child_exit(self, name: str, end: CallEnd) -> None:
        """Report the exit of a child process that had no call."""
        self._hearers.call(ServedCall("", "", 0, name, end))


def _build_served_functions(service: LocalService) -> ServedFunctions:
    return ServedFunctions(RouteTable(service.routes), service.memory, service.broken)


EXIT = "exit"
_LONGEST = 256


@contextlib.contextmanager
def stop_on_signal(end: Callable[[], None]) -> Iterator[None]:
    """Stop gracefully on the first signal, and immediately on the second."""

    def handle_signal(number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.default_int_handler)
        end()

    options = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    numbers = [one for one in options if signal.getsignal(one) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def read_typed_lines(hear: Callable[[str], None], at_end: Callable[[], None]) -> Iterator[None]:
    """Read lines of standard input in a separate thread, and report the end of input.

    In the background of a terminal nothing is read, because that would suspend the process.
    """
    if _is_foreground():
        work = (hear, at_end)
        threading.Thread(target=_listen, args=work, name="line-reader", daemon=True).start()
    yield


def ignore_end() -> None:
    """Ignore the end of input: the command continues without it."""


def _is_foreground() -> bool:
    try:
        return not os.isatty(0) or os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _listen(hear: Callable[[str], None], at_end: Callable[[], None]) -> None:
    begun = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(0, 4096):
            *lines, begun = (begun + chunk).split(b"\n")
            for line in lines:
                hear(line.decode(errors="replace").strip())
            begun = begun[-_LONGEST:]
    at_end()
