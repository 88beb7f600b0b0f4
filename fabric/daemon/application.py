"""What a server serves: an application, its routes, and the runs that it has under way."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

from fabric.app.settings import Settings
from fabric.daemon.exchange import ApiRoute
from fabric.daemon.options import ServerOptions
from fabric.daemon.server.access_log import LineLog
from fabric.daemon.server.server_parts import Wsgi
from fabric.daemon.server.sessions import BrowserSessions


class RunsUnderWay(Protocol):
    """All that the end of a server has to know of runs."""

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
    """`is_draining` from the moment that the server was told to end: it is not ready any more, and
    begins no run."""

    def __init__(self) -> None:
        self.is_draining = False


class ServerSurroundings(Struct, frozen=True):
    """`is_insecure`: there is no key, and others than this machine are listened to."""

    options: ServerOptions
    settings: Settings
    life: ServerLife
    log: LineLog
    has_keys: bool = False
    is_insecure: bool = False


class Application(Struct, frozen=True):
    """`close` is called once, when nothing is under way any more; `sessions` are those of its
    pages."""

    wsgi: Wsgi
    routes: tuple[ApiRoute, ...]
    runs: RunsUnderWay = NoRuns()
    close: Callable[[], None] = lambda: None
    sessions: BrowserSessions | None = None


AppFactory: TypeAlias = Callable[[ServerSurroundings], Application]
