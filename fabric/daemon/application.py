"""A server's content: an application, its routes and its active runs."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

from fabric.app.settings import Settings
from fabric.daemon.http_types import ApiRoute
from fabric.daemon.options import ServerOptions
from fabric.daemon.server.access_log import LineLog
from fabric.daemon.server.sessions import BrowserSessions
from fabric.system.http.wsgi import Wsgi


class RunsUnderWay(Protocol):
    """The interface of active runs for the shutdown of a server."""

    def under_way(self) -> int: ...
    def drain(self) -> None: ...
    def ask_all_to_stop(self) -> None: ...
    def cut_all(self) -> None: ...


class NoRuns(Struct, frozen=True):
    def under_way(self) -> int:
        return 0

    def drain(self) -> None:
        return

    def ask_all_to_stop(self) -> None:
        return

    def cut_all(self) -> None:
        return


class ServerLife:
    """The life of a server. `is_draining` is set once it was stopped: it is not ready and starts no
    run."""

    def __init__(self) -> None:
        self.is_draining = False


class ServerSurroundings(Struct, frozen=True):
    """The environment of a server."""

    options: ServerOptions
    settings: Settings
    life: ServerLife
    log: LineLog
    has_keys: bool = False
    # It has no key and accepts remote connections.
    is_insecure: bool = False


class Application(Struct, frozen=True):
    """An application."""

    wsgi: Wsgi
    routes: tuple[ApiRoute, ...]
    runs: RunsUnderWay = NoRuns()
    # Called once, when nothing is active.
    close: Callable[[], None] = lambda: None
    # Its browser sessions.
    sessions: BrowserSessions | None = None


AppFactory: TypeAlias = Callable[[ServerSurroundings], Application]
