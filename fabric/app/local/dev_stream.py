"""`invoke dev`: answer requests of a deployed stage locally, through a tunnel.

First start the server, then verify the tunnel, then divert the routes. On exit, restore the routes.
"""

import contextlib
import queue
import re
import socket
import threading
from collections.abc import Callable, Iterator
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from fabric.app.deploy.production_guard import AskFor, confirm_stage, refuse_prompt
from fabric.app.local.restore import restore_diverted_services
from fabric.app.local.serve import ServedService, ServeListeners, ServeOptions, serve_functions
from fabric.app.local.wiring import (
    DivertedService,
    NotWiredError,
    WiredRoutes,
    divert_service_routes,
    open_diverted_service,
)
from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.project.project import open_project
from fabric.app.records.scope import ScopeOptions, open_deploy_scope
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.config.rules.config import PRODUCTION
from fabric.engine.bus import MakeListeners
from fabric.local.http_service import TunnelEnd
from fabric.model.outcomes.queried import RestoredService, StreamedOutcome
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.system.http.http_check import HttpAnswer, fetch_without_redirect
from fabric.system.http.urls import is_plain, is_web_address

_TRIES, _PAUSE, _SECONDS = 5, 1.0, 10.0
_OK, _REDIRECTS, _SERVER_ERROR = 200, 300, 500
_EXAMPLE = "use a URL such as --tunnel-url https://name.example.net"
# Waits so many seconds; says whether there is nobody any more who wants to know.
Pause = Callable[[float], bool]


class Tunnel(Struct, frozen=True):
    url: str
    host: str


def parse_tunnel(text: str) -> Tunnel:
    """Parse a tunnel URL. Raises if providers could not send requests to it."""
    if not is_web_address(text) or urlsplit(text).port == 0:
        raise _invalid_tunnel_error("must be an https:// or http:// URL with a host")
    parts = urlsplit(text)
    if wrong := _extra_url_part_message(text, parts):
        raise _invalid_tunnel_error(
            f"must contain only a scheme, host and port, but contains {wrong}"
        )
    host = parts.hostname or ""
    try:
        socket.getaddrinfo(host, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise _invalid_tunnel_error(f"has an unknown host: `{host}`") from error
    return Tunnel(f"{parts.scheme}://{parts.netloc}", host)


def _extra_url_part_message(text: str, parts: SplitResult) -> str:
    """A password is not shown again."""
    if "@" in parts.netloc:
        return "a user or a password"
    if {"?", "#"} & set(text):
        return "a query or a fragment"
    return "a path" if parts.path not in ("", "/") else ""


def verify_tunnel(tunnel: Tunnel, end: TunnelEnd, pause: Pause) -> bool:
    """Verify that the tunnel reaches this machine, with retries for a new tunnel.

    Raises if it reaches another server. Returns false if the wait was stopped.
    """
    for attempt in range(_TRIES):
        try:
            answer = fetch_without_redirect(f"{tunnel.url}{end.path}", _SECONDS)
        except FabricError as error:
            if attempt == _TRIES - 1:
                raise FabricError(_unreachable_problem(tunnel)) from error
        else:
            if answer.status == _OK and answer.text == end.nonce:
                return True
            if answer.status < _SERVER_ERROR or attempt == _TRIES - 1:
                raise FabricError(_wrong_target_problem(tunnel, answer))
        if pause(_PAUSE):
            return False
    return False


def _unreachable_problem(tunnel: Tunnel) -> Problem:
    hint = "open the tunnel to the local port, then run the command again"
    return Problem("provider/unreachable", f"the tunnel {tunnel.url} cannot be reached", hint)


def _wrong_target_problem(tunnel: Tunnel, answer: HttpAnswer) -> Problem:
    """Return the problem of a wrong target. Shows none of its response, which is untrusted."""
    said = f"another server returned {answer.status}"
    hint = "open the tunnel to the local port, and set --tunnel-url to its URL"
    if _REDIRECTS <= answer.status < _REDIRECTS + 100:
        said = f"it redirects to another URL ({answer.status})"
        hint = "set --tunnel-url to the URL it redirects to, usually https://"
    message = f"the tunnel {tunnel.url} does not reach this process: {said}"
    return Problem("dev/other-tunnel", message, hint)


def _invalid_tunnel_error(why: str) -> FabricError:
    return FabricError(Problem("usage/bad-tunnel-url", f"--tunnel-url {why}", _EXAMPLE))


_WORD_ENDS = re.compile(r"[-_.]")


class DevStreamOptions(Struct, frozen=True):
    """`ask` asks for the name of a protected stage."""

    tunnel_url: str
    port: int = 8787
    allow_prod: bool = False
    lock_timeout: float = 0.0
    ask: AskFor = refuse_prompt


class StreamSubscribers(Struct, frozen=True):
    """Callbacks beside those of a local server: restored routes, diverted routes, skipped
    diversion, and routes back in the cloud."""

    served: ServeListeners
    restored: Callable[[RestoredService], None]
    wired: Callable[[Tunnel, WiredRoutes], None]
    not_wired: Callable[[Problem], None]
    back: Callable[[WiredRoutes], None]


def run_dev_stream(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    options: DevStreamOptions,
    hearers: StreamSubscribers,
) -> Report:
    tunnel = parse_tunnel(options.tunnel_url)
    project = open_project(request.where, settings)
    _refuse_production(project.stage, options)
    confirm_stage(project.units, project.stage, settings, options.ask)
    for one in restore_diverted_services(project, settings, options.lock_timeout):
        hearers.restored(one)
    end = TunnelEnd(tunnel.host, settings.chance(16))
    serve_options = ServeOptions(options.port, watch=True, tunnel=end)
    with _open_diverted_service(project, settings, options) as service:
        leading = _Leading(service, tunnel, end, settings=settings, hearers=hearers)
        with serve_functions(
            request, settings, make_listeners, serve_options, hearers.served
        ) as served:
            leading.go_on_beside(served)
    warnings = (*leading.warnings, *served.warnings)
    return Report(
        request.command, _build_outcome(project, tunnel, served, leading), warnings=warnings
    )


def _refuse_production(stage: str, options: DevStreamOptions) -> None:
    """Reject production stages by name: `prod`, and also `prod-eu` and `eu.live`."""
    if options.allow_prod or not {*_WORD_ENDS.split(stage.lower())} & {*PRODUCTION}:
        return
    message = f"refusing to route the traffic of stage `{stage}` to this machine"
    raise FabricError(Problem("usage/production", message, "use --allow-prod to allow this"))


@contextlib.contextmanager
def _open_diverted_service(
    project: Project, settings: Settings, options: DevStreamOptions
) -> Iterator[DivertedService | Problem]:
    """Open the service whose routes are to be diverted, or return the problem."""
    placement = build_placement(project.units[0], project.workspace, project.home)
    scope_options = ScopeOptions(lambda: project.units, lock_timeout=options.lock_timeout)
    with open_deploy_scope((placement,), settings, scope_options) as scope:
        found: DivertedService | Problem
        try:
            found = open_diverted_service(scope, placement, options.lock_timeout)
        except NotWiredError as error:
            found = error.first
        yield found


class _Leading:
    """A thread that proves the tunnel, turns the routes, waits, and turns them back: meanwhile the
    server answers, the proof first of all."""

    def __init__(
        self,
        service: DivertedService | Problem,
        tunnel: Tunnel,
        end: TunnelEnd,
        *,
        settings: Settings,
        hearers: StreamSubscribers,
    ) -> None:
        self._service, self._settings, self._hearers = service, settings, hearers
        self._tunnel, self._end = tunnel, end
        self.routes = WiredRoutes(())
        self.warnings: tuple[Problem, ...] = tuple(_warn_of_tunnel(self._tunnel))
        # A handler of a signal may put into it whatever else is going on.
        self._wishes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._error: BaseException | None = None

    def go_on_beside(self, served: ServedService) -> None:
        """Run until stopped. The routes are restored however the server ends."""
        served.asked_to_end = lambda: self._wishes.put(None)
        thread = threading.Thread(target=self._run, args=(served,), name="tunnel", daemon=True)
        thread.start()
        try:
            served.run()
        finally:
            self._wishes.put(None)
            thread.join()
        if self._error is not None:
            raise self._error

    def _run(self, served: ServedService) -> None:
        try:
            if verify_tunnel(self._tunnel, self._end, self._is_to_end):
                self._divert_routes()
        except BaseException as error:  # noqa: BLE001 - raised by the thread that is waited for
            self._error = error
        finally:
            served.end()

    def _divert_routes(self) -> None:
        if isinstance(self._service, Problem):
            self._skip_diversion(self._service)
            return
        try:
            with divert_service_routes(
                self._service, self._tunnel.url, self._settings
            ) as self.routes:
                self._hearers.wired(self._tunnel, self.routes)
                self._wishes.get()
            self._hearers.back(self.routes)
        except NotWiredError as error:
            self._skip_diversion(error.first)

    def _skip_diversion(self, why: Problem) -> None:
        """Serve without diverting routes."""
        self.warnings = (*self.warnings, why)
        self._hearers.not_wired(why)
        self._wishes.get()

    def _is_to_end(self, seconds: float) -> bool:
        try:
            self._wishes.get(timeout=seconds)
        except queue.Empty:
            return False
        return True


def _warn_of_tunnel(tunnel: Tunnel) -> Iterator[Problem]:
    if is_plain(tunnel.url):
        message = f"the tunnel {tunnel.url} uses plain HTTP, which is not encrypted"
        yield Problem("dev/plain-tunnel", message, "use the https:// URL of the tunnel")


def _build_outcome(
    project: Project, tunnel: Tunnel, served: ServedService, leading: _Leading
) -> StreamedOutcome:
    what, routes = served.outcome, leading.routes
    return StreamedOutcome(
        *(project.stage, tunnel.url, what.url, routes.turned, routes.left_alone),
        *(what.calls, what.failed),
    )
