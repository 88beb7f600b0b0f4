"""How many connections a server has, and whose."""

import contextlib
import time

from fabric.system.http.connection import HttpLimits
from fabric.system.http.listening import bind_socket, find_free_port
from tests.support.until import until
from tests.system.http.serving import LAST, all_of, request, serving


def test_half_open_connections_do_not_block_others() -> None:
    with serving() as found:
        idle = found.idle(400)
        for one in idle[::2]:
            one.sendall(b"POST / HTTP/1.1\r\nHost: ")
        assert b"/quick" in found.ask(request("/quick", LAST))
        for one in idle:
            one.close()


def test_hundreds_at_once_are_answered() -> None:
    with serving() as found:
        clients = found.idle(300)
        for client in clients:
            client.sendall(request("/many", LAST))
        assert all(b"/many" in all_of(client) for client in clients)
        for client in clients:
            client.close()


def test_longest_idle_connection_is_closed_if_all_are_taken() -> None:
    with serving(HttpLimits(connections=20)) as found:
        idle = found.idle(20)
        assert b"/new" in found.ask(request("/new", LAST))
        assert idle[0].recv(1) == b""
        idle[-1].sendall(request("/old", LAST))
        assert b"/old" in all_of(idle[-1])
        for one in idle:
            one.close()


def test_connections_beyond_the_limit_get_503_if_all_are_working() -> None:
    with serving(HttpLimits(connections=2)) as found:
        busy = [found.dial() for _ in range(2)]
        for one in busy:
            one.sendall(request("/wait", LAST))
        until(lambda: len(found.echo.waiting) == 2)
        assert found.server.in_flight == 2
        assert found.ask().startswith(b"HTTP/1.1 503 ")
        found.echo.go_on()
        assert all(all_of(one).endswith(b"late") for one in busy)
        for one in busy:
            one.close()


def test_idle_connections_per_address_are_limited_unless_it_is_shared() -> None:
    limits = HttpLimits(idle_per_address=5)
    with serving(limits) as shared, serving(limits, lambda _: False) as found:
        many = shared.idle(8)
        idle = found.idle(5)
        since = time.monotonic()
        until(lambda: time.monotonic() > since + 1.1)
        for server in (shared, found):
            assert b"/new" in server.ask(request("/new", LAST))
        assert idle[0].recv(1) == b""
        assert len(found.server) <= 5
        assert len(shared.server) >= 8
        for one in (*many, *idle):
            one.close()


def test_server_that_stops_listening_finishes_open_requests() -> None:
    with serving() as found, found.dial() as client:
        client.sendall(request("/wait", LAST))
        until(lambda: bool(found.echo.waiting))
        found.echo.loop.post(found.server.stop_listening)
        until(lambda: is_refused(found.server.port))
        found.echo.go_on()
        assert all_of(client).endswith(b"late")
        until(lambda: found.server.in_flight == 0)


def is_refused(port: int) -> bool:
    """Return whether nothing listens there."""
    with contextlib.suppress(OSError):
        bind_socket("127.0.0.1", port).close()
        return True
    return False


def test_a_free_port_is_found_near_one_that_is_taken() -> None:
    with contextlib.closing(bind_socket("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        free = find_free_port("127.0.0.1", port)
        assert port < free < port + 100
        bind_socket("127.0.0.1", free).close()
    assert find_free_port("127.0.0.1", 65535) == 0
