"""What a gate passes on, and what it says where it cannot."""

import concurrent.futures
import http.client
import json
import threading
import time
from pathlib import Path

import pytest

from tests.support.gate_server import OK, PlayedCall, gate, played, route
from tests.support.servers.process import free_port

pytestmark = pytest.mark.slow

_CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def fine(call: PlayedCall) -> None:
    call.send(OK)


def test_request_is_forwarded_unchanged(tmp_path: Path) -> None:
    with (
        played(fine) as function,
        gate(tmp_path, route(function.url, "/{rest+}")) as made,
        made.connection() as connection,
    ):
        connection.putrequest("GET", "/a%2Fb/%C3%A4?x=1&x=%20", skip_accept_encoding=True)
        for name, value in (("X-Two", "1"), ("X-Two", "2"), ("Cookie", "a=b; c=d")):
            connection.putheader(name, value)
        connection.endheaders()
        assert connection.getresponse().read() == b"ok"
    (call,) = function.calls
    assert call.head.startswith("GET /a%2Fb/%C3%A4?x=1&x=%20 HTTP/1.1")
    assert call.headers("x-two") == ["1", "2"]
    assert call.headers("cookie") == ["a=b; c=d"]
    assert call.headers("host") == [f"127.0.0.1:{made.port}"]


def test_headers_of_one_hop_stay_behind(tmp_path: Path) -> None:
    hop = {"TE": "trailers", "Upgrade": "websocket", "Keep-Alive": "timeout=9", "X-Hop": "1"}
    headers = {**hop, "Connection": "keep-alive, X-Hop", "Proxy-Authorization": "Basic x"}
    with played(fine) as function, gate(tmp_path, route(function.url)) as made:
        assert made.ask("GET", "/x", headers=headers) == (200, b"ok")
    (call,) = function.calls
    names = {line.partition(":")[0].lower() for line in call.head.splitlines()[1:]}
    assert names == {"host", "accept-encoding", "x-forwarded-for", "connection"}
    assert call.headers("connection") == ["keep-alive"]


@pytest.mark.parametrize(
    ("before", "after"),
    [({}, "127.0.0.1"), ({"X-Forwarded-For": "192.0.2.1"}, "192.0.2.1, 127.0.0.1")],
)
def test_forwarded_headers_identify_the_client(
    tmp_path: Path, before: dict[str, str], after: str
) -> None:
    more = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "shop.test"}
    with played(fine) as function, gate(tmp_path, route(function.url)) as made:
        made.ask("GET", "/x", headers={**before, **more})
    (call,) = function.calls
    assert call.headers("x-forwarded-for") == [after]
    assert (call.headers("x-forwarded-proto"), call.headers("x-forwarded-host")) == (
        ["https"],
        ["shop.test"],
    )


def test_an_answer_comes_back_as_it_is(tmp_path: Path) -> None:
    lines = ("HTTP/1.1 207 Some Words", "set-cookie: a=1", "set-cookie: b=2", "x-hop: 1")
    end = ("connection: keep-alive, x-hop", "content-length: 2", "", "\0\1")

    def answer(call: PlayedCall) -> None:
        call.send("\r\n".join((*lines, *end)))

    with (
        played(answer) as function,
        gate(tmp_path, route(function.url)) as made,
        made.connection() as connection,
    ):
        connection.request("GET", "/x")
        found = connection.getresponse()
        assert (found.status, found.reason, found.read()) == (207, "Some Words", b"\0\1")
    assert found.msg.get_all("set-cookie") == ["a=1", "b=2"]
    assert found.getheader("x-hop") is None


def test_an_answer_is_passed_on_while_it_comes(tmp_path: Path) -> None:
    has_come = threading.Event()

    def answer(call: PlayedCall) -> None:
        call.send(f"{_CHUNKED}3\r\none\r\n")
        assert has_come.wait(20)
        call.send("3\r\ntwo\r\n0\r\n\r\n")

    with (
        played(answer) as function,
        gate(tmp_path, route(function.url)) as made,
        made.connection() as connection,
    ):
        connection.request("GET", "/x")
        found = connection.getresponse()
        assert found.read(3) == b"one"
        has_come.set()
        assert found.read() == b"two"


def test_a_body_is_passed_on_while_it_comes(tmp_path: Path) -> None:
    has_come = threading.Event()

    def answer(call: PlayedCall) -> None:
        content = b""
        while b"one" not in content:
            content += call.read()
        has_come.set()
        while not content.endswith(b"0\r\n\r\n"):
            content += call.read()
        call.send(f"HTTP/1.1 200 OK\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content)

    with (
        played(answer) as function,
        gate(tmp_path, route(function.url)) as made,
        made.connection() as connection,
    ):
        connection.putrequest("DELETE", "/x")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders(b"3\r\none\r\n")
        assert has_come.wait(20)
        connection.send(b"3\r\ntwo\r\n0\r\n\r\n")
        assert connection.getresponse().read() == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("method", "path", "status", "word"),
    [("GET", "/none", 404, "Not Found"), ("PUT", "/x", 405, "Method Not Allowed")],
)
def test_unrouted_request_is_answered_by_the_gateway(
    tmp_path: Path, method: str, path: str, status: int, word: str
) -> None:
    with played(fine) as function, gate(tmp_path, route(function.url, method="GET")) as made:
        assert made.ask(method, path) == (
            status,
            json.dumps({"message": word}).replace(": ", ":").encode(),
        )
    assert function.calls == []


def test_unreachable_function_returns_503(tmp_path: Path) -> None:
    with gate(tmp_path, route(f"http://127.0.0.1:{free_port()}")) as made:
        assert made.ask("POST", "/x", body=b"some") == (503, b'{"message":"Service Unavailable"}')


@pytest.mark.parametrize("said", ["", "HTTP/1.1 200 OK\r\nconte", "no http\r\n\r\n"])
def test_a_function_that_breaks_off_is_502(tmp_path: Path, said: str) -> None:
    def breaks(call: PlayedCall) -> None:
        call.send(said)
        call.connection.close()

    with played(breaks) as function, gate(tmp_path, route(function.url)) as made:
        assert made.ask("GET", "/x") == (502, b'{"message":"Bad Gateway"}')
    assert len(function.calls) == 1


def test_an_answer_that_breaks_off_is_seen_to(tmp_path: Path) -> None:
    def breaks(call: PlayedCall) -> None:
        call.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
        call.connection.close()

    with (
        played(breaks) as function,
        gate(tmp_path, route(function.url)) as made,
        pytest.raises((http.client.IncompleteRead, ConnectionError)),
    ):
        made.ask("GET", "/x")


def goes_on(call: PlayedCall) -> None:
    """Until nobody waits any more."""
    call.connection.recv(1)


def test_function_over_its_timeout_returns_504(tmp_path: Path) -> None:
    with (
        played(goes_on) as function,
        gate(tmp_path, route(function.url, seconds=1), margin=0) as made,
    ):
        assert made.ask("GET", "/x") == (504, b'{"message":"Gateway Timeout"}')


def test_slow_response_may_outlast_the_idle_connection_timeout(tmp_path: Path) -> None:
    def late(call: PlayedCall) -> None:
        time.sleep(2.5)
        call.send(OK)

    with played(late) as function, gate(tmp_path, route(function.url)) as made:
        assert made.ask("GET", "/x") == (200, b"ok")


def test_a_connection_is_used_again(tmp_path: Path) -> None:
    with played(fine) as function, gate(tmp_path, route(function.url)) as made:
        for _ in range(5):
            assert made.ask("GET", "/x") == (200, b"ok")
    assert (len(function.calls), function.connections) == (5, 1)


def test_client_disconnect_cancels_the_function_request(tmp_path: Path) -> None:
    has_begun, has_ended = threading.Event(), threading.Event()

    def answer(call: PlayedCall) -> None:
        has_begun.set()
        if not call.connection.recv(1):
            has_ended.set()

    with (
        played(answer) as function,
        gate(tmp_path, route(function.url)) as made,
        made.connection() as connection,
    ):
        connection.request("GET", "/x")
        assert has_begun.wait(20)
        connection.close()
        assert has_ended.wait(20)


def test_a_body_that_breaks_off_breaks_off_behind_as_well(tmp_path: Path) -> None:
    has_ended = threading.Event()

    def answer(call: PlayedCall) -> None:
        while call.read():
            pass
        has_ended.set()

    with played(answer) as function, gate(tmp_path, route(function.url)) as made:
        with made.connection() as connection:
            connection.putrequest("POST", "/x")
            connection.putheader("Content-Length", "9")
            connection.endheaders(b"half")
        assert has_ended.wait(20)
        assert made.is_ready()


def test_stopping_gateway_finishes_requests_in_flight(tmp_path: Path) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def answer(call: PlayedCall) -> None:
        has_begun.set()
        assert may_end.wait(20)
        call.send(OK)

    with (
        played(answer) as function,
        gate(tmp_path, route(function.url)) as made,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        call = pool.submit(made.ask, "GET", "/x")
        assert has_begun.wait(20)
        made.end()
        may_end.set()
        assert call.result() == (200, b"ok")
        assert made.child.wait(20) == 0
