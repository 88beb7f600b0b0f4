"""Connections over real sockets: side by side, in pieces, and with nobody at the other end."""

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from fabric.local.connection import HttpLimits, SendReply
from fabric.local.http_answer import ServedAnswer, build_json_answer
from fabric.local.http_request import ServedRequest
from fabric.local.http_server import HttpServer, listen
from fabric.model.problems import FabricError
from fabric.system.event_loop import EventLoop
from tests.support.until import until


class Echo:
    """Answers with what it was asked; a request to `/wait` when it is told to."""

    def __init__(self, loop: EventLoop) -> None:
        self.loop = loop
        self.waiting: list[SendReply] = []

    def answer(self, request: ServedRequest, reply: SendReply) -> None:
        head = request.head
        if head.path == "/wait":
            self.waiting.append(reply)
        elif head.path == "/large":
            reply(ServedAnswer(200, (), b"x" * 20_000_000))
        else:
            size = len(request.body)
            reply(
                build_json_answer(200, {"method": head.method, "target": head.target, "size": size})
            )

    def go_on(self) -> None:
        for reply in self.waiting:
            self.loop.post(partial(reply, ServedAnswer(200, (), b"late")))


@contextlib.contextmanager
def serving(limits: HttpLimits | None = None) -> Iterator[tuple[int, Echo]]:
    loop = EventLoop()
    echo = Echo(loop)
    listening = listen("127.0.0.1", 0)
    server = HttpServer(loop, listening, echo.answer, limits or HttpLimits())
    over: list[bool] = []
    thread = threading.Thread(target=loop.run_until, args=(lambda: bool(over),))
    thread.start()
    try:
        yield server.port, echo
    finally:
        loop.post(lambda: over.append(True))
        thread.join()
        server.close()
        loop.close()


def dial(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def all_of(client: socket.socket) -> bytes:
    found = b""
    while chunk := client.recv(1 << 16):
        found += chunk
    return found


def head(path: str = "/", *more: str, method: str = "GET") -> bytes:
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: localhost", *more, "", "")).encode()


LAST = "Connection: close"


def test_connection_is_reused_for_the_next_request() -> None:
    with serving() as (port, _):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for number in range(3):
            client.request("POST", f"/{number}", body=b"x" * number)
            found = json.loads(client.getresponse().read())
            assert found == {"method": "POST", "target": f"/{number}", "size": number}
        client.close()


def test_pipelined_requests_are_answered_in_order() -> None:
    with serving() as (port, _), dial(port) as client:
        client.sendall(head("/1") + head("/2") + head("/3", LAST))
        bodies = all_of(client).split(b"\r\n\r\n")
        assert [f"/{n}".encode() in bodies[n] for n in (1, 2, 3)] == [True] * 3


def test_a_request_may_come_byte_by_byte() -> None:
    with serving() as (port, _), dial(port) as client:
        for byte in head("/slow", "Content-Length: 2", LAST) + b"ab":
            client.sendall(bytes([byte]))
        assert b'"size": 2' in all_of(client)


def test_slow_client_does_not_block_others() -> None:
    with serving() as (port, echo), dial(port) as slow, dial(port) as half, dial(port) as quick:
        slow.sendall(head("/wait", LAST))
        half.sendall(b"GET / HT")
        quick.sendall(head("/quick", LAST))
        assert b"/quick" in all_of(quick)
        until(lambda: bool(echo.waiting))
        echo.go_on()
        assert all_of(slow).endswith(b"late")


def test_hundreds_at_once_are_answered() -> None:
    with serving() as (port, _):
        clients = [dial(port) for _ in range(300)]
        for client in clients:
            client.sendall(head("/many", LAST))
        assert all(b"/many" in all_of(client) for client in clients)
        for client in clients:
            client.close()


def test_an_answer_is_sent_as_slowly_as_it_is_read() -> None:
    with serving() as (port, _), dial(port) as client:
        client.sendall(head("/large", LAST))
        assert len(all_of(client)) > 20_000_000


def test_a_client_that_leaves_is_forgotten() -> None:
    with serving() as (port, echo):
        with dial(port) as client:
            client.sendall(head("/wait"))
            until(lambda: bool(echo.waiting))
        echo.go_on()
        with dial(port) as client:
            client.sendall(head("/after", LAST))
            assert b"/after" in all_of(client)


def test_half_closed_client_gets_its_response() -> None:
    with serving() as (port, echo), dial(port) as client:
        client.sendall(head("/wait"))
        client.shutdown(socket.SHUT_WR)
        until(lambda: bool(echo.waiting))
        echo.go_on()
        assert all_of(client).endswith(b"late")


def test_expect_continue_is_answered_with_100() -> None:
    with serving() as (port, _), dial(port) as client:
        client.sendall(head("/", "Content-Length: 2", "Expect: 100-continue", LAST))
        assert client.recv(100).startswith(b"HTTP/1.1 100 Continue")
        client.sendall(b"ab")
        assert b'"size": 2' in all_of(client)


def test_the_answer_to_head_has_no_body() -> None:
    with serving() as (port, _), dial(port) as client:
        client.sendall(head("/", LAST, method="HEAD"))
        found = all_of(client)
        assert b"content-length:" in found
        assert found.endswith(b"\r\n\r\n")


def test_malformed_request_closes_the_connection() -> None:
    with serving() as (port, _), dial(port) as client:
        client.sendall(b"hello\r\n\r\n" + head("/never"))
        found = all_of(client)
        assert found.startswith(b"HTTP/1.1 400 ")
        assert b"/never" not in found


def test_a_request_that_does_not_go_on_is_given_up() -> None:
    with serving(HttpLimits(request_seconds=0.05)) as (port, _), dial(port) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab")
        assert all_of(client).startswith(b"HTTP/1.1 408 ")


def test_a_connection_without_requests_is_closed() -> None:
    with serving(HttpLimits(idle_seconds=0.05)) as (port, _), dial(port) as client:
        assert all_of(client) == b""


def test_connections_beyond_the_limit_get_503() -> None:
    with serving(HttpLimits(connections=1)) as (port, _), dial(port) as first:
        first.sendall(head("/first"))
        assert first.recv(100)
        with dial(port) as second:
            assert all_of(second).startswith(b"HTTP/1.1 503 ")


def test_taken_port_is_reported_with_a_free_one() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with pytest.raises(FabricError) as caught:
            listen("127.0.0.1", port)
    problem = caught.value.first
    assert problem.code == "local/port-taken"
    assert str(port) in problem.message
    assert "is free" in problem.hint
