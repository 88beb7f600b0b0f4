"""One function behind the server of the developer's machine, in this process."""

import contextlib
import datetime
import threading
from collections.abc import Iterator, Sequence

from fabric.local.api import LocalApi, ServedFunctions, Surroundings
from fabric.local.http_service import build_local_service
from fabric.local.routes import HttpRoute, RouteTable
from fabric.runtimes.calls.function import LocalFunction
from fabric.runtimes.calls.pool import HandlerPool
from fabric.system.event_loop import EventLoop
from fabric.system.http.listening import bind_socket
from fabric.system.http.server import HttpServer
from tests.support.bundler_cache import ENVIRONMENT


@contextlib.contextmanager
def served_locally(function: LocalFunction, routes: Sequence[tuple[str, str]]) -> Iterator[int]:
    """The port; `routes` are methods with paths."""
    loop, over = EventLoop(), list[bool]()
    pool = HandlerPool(loop, {"PATH": ENVIRONMENT["PATH"]})
    pool.put(function)
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    around = Surroundings(lambda: now, lambda: "id", lambda _call: None)
    table = RouteTable(HttpRoute(method, path, function.name) for method, path in routes)
    functions = ServedFunctions(table, {function.name: 0})
    service = build_local_service(LocalApi(pool, functions, around).answer)
    server = HttpServer(loop, bind_socket("127.0.0.1", 0), service)
    thread = threading.Thread(target=loop.run_until, args=(lambda: bool(over),))
    thread.start()
    try:
        yield server.port
    finally:
        loop.post(lambda: over.append(True))
        thread.join()
        server.close()
        pool.close()
        loop.close()
