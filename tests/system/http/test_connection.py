"""Connections over real sockets: in pieces, in a row, and with nobody at the other end."""

import http.client
import json
import socket

import pytest

from fabric.system.http.connection import HttpLimits
from tests.support.until import until
from tests.system.http.serving import LAST, all_of, request, serving

QUICK = HttpLimits(header_seconds=0.1, request_seconds=0.2, idle_seconds=0.1, linger_seconds=0.1)


def test_connection_is_reused_for_the_next_request() -> None:
    with serving() as found:
        client = http.client.HTTPConnection("127.0.0.1", found.server.port, timeout=30)
        for number in range(3):
            client.request("POST", f"/{number}", body=b"x" * number)
            said = json.loads(client.getresponse().read())
            assert said == {"method": "POST", "target": f"/{number}", "size": number}
        client.close()


def test_pipelined_requests_are_answered_in_order() -> None:
    targets = [f"/{number}" for number in range(3000)]
    with serving() as found:
        answers = found.ask(*map(request, targets), request("/last", LAST))
        assert found.echo.answered == [*targets, "/last"]
        parts = answers.split(b'"target": "')[1:]
    assert [part.partition(b'"')[0].decode() for part in parts] == [*targets, "/last"]


def test_pipelined_request_waits_for_the_answer_before_it() -> None:
    with serving() as found, found.dial() as client:
        client.sendall(request("/wait") + request("/next", LAST))
        until(lambda: bool(found.echo.waiting))
        assert found.echo.answered == ["/wait"]
        found.echo.go_on()
        answers = all_of(client)
        assert answers.index(b"late") < answers.index(b"/next")


def test_a_request_may_come_byte_by_byte() -> None:
    with serving() as found:
        text = request("/slow", "Content-Length: 2", LAST) + b"ab"
        assert b'"size": 2' in found.ask(*(bytes([byte]) for byte in text))


def test_slow_client_does_not_block_others() -> None:
    with serving() as found, found.dial() as slow, found.dial() as half:
        slow.sendall(request("/wait", LAST))
        half.sendall(b"GET / HT")
        assert b"/quick" in found.ask(request("/quick", LAST))
        until(lambda: bool(found.echo.waiting))
        found.echo.go_on()
        assert all_of(slow).endswith(b"late")


def test_an_answer_is_sent_as_slowly_as_it_is_read() -> None:
    with serving() as found:
        assert len(found.ask(request("/large", LAST))) > 20_000_000


def test_a_client_that_leaves_is_forgotten() -> None:
    with serving() as found:
        with found.dial() as client:
            client.sendall(request("/wait"))
            until(lambda: bool(found.echo.waiting))
        found.echo.go_on()
        assert b"/after" in found.ask(request("/after", LAST))
        until(lambda: len(found.server) == 0)


def test_half_closed_client_gets_its_response() -> None:
    with serving() as found, found.dial() as client:
        client.sendall(request("/wait"))
        client.shutdown(socket.SHUT_WR)
        until(lambda: bool(found.echo.waiting))
        found.echo.go_on()
        assert all_of(client).endswith(b"late")


def test_expect_continue_is_answered_with_100_once_the_request_is_admitted() -> None:
    expects = ("Content-Length: 2", "Expect: 100-continue", LAST)
    with serving() as found, found.dial() as client:
        client.sendall(request("/", *expects))
        assert client.recv(100).startswith(b"HTTP/1.1 100 Continue")
        client.sendall(b"ab")
        assert b'"size": 2' in all_of(client)
        assert found.ask(request("/secret", *expects)).startswith(b"HTTP/1.1 401 ")


def test_the_answer_to_head_has_no_body() -> None:
    with serving() as found:
        for path in ("/", "/secret"):
            answer = found.ask(request(path, LAST, method="HEAD"))
            assert b"content-length:" in answer
            assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(("more", "keeps"), [((), False), (("Connection: keep-alive",), True)])
def test_a_client_of_http_1_0_gets_one_answer_unless_it_keeps_the_connection(
    more: tuple[str, ...], *, keeps: bool
) -> None:
    with serving() as found:
        found.ask(request("/1", *more, version="1.0"), request("/2", version="1.0"))
        assert found.echo.answered == (["/1", "/2"] if keeps else ["/1"])


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        request("/secret", "Content-Length: 999"),
        request("/", "Content-Length: 99999999"),
        request("/", "Transfer-Encoding: chunked") + b"x\r\n",
    ],
)
def test_data_after_a_rejected_request_is_ignored(sent: bytes) -> None:
    with serving() as found:
        answer = found.ask(sent + request("/never"))
        assert answer.startswith(b"HTTP/1.1 4")
        assert b"connection: close" in answer
        assert len(found.echo.refused) == 1
        assert found.echo.answered == []


def test_client_that_sends_more_than_allowed_can_read_the_rejection() -> None:
    chunk = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))
    with serving() as found:
        answer = found.ask(request("/", "Transfer-Encoding: chunked"), *[chunk] * 14)
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "sent",
    [b"GET / HT", b"\r\n", b"GET / HTTP/1.1\r\nHost: a", request("/", "Content-Length: 9") + b"x"],
)
def test_half_a_request_is_answered_once_it_took_too_long(sent: bytes) -> None:
    with serving(QUICK) as found:
        assert found.ask(sent).startswith(b"HTTP/1.1 408 ")


def test_a_body_that_drips_is_too_slow_as_well() -> None:
    with serving(QUICK) as found, found.dial() as client:
        client.sendall(request("/", "Content-Length: 100000"))
        answer: list[bytes] = []
        client.settimeout(0.02)

        def dripped() -> bool:
            try:
                client.sendall(b"x")
                answer.append(client.recv(1 << 16))
            except TimeoutError:
                return False
            return True

        until(dripped)
    assert answer[0].startswith(b"HTTP/1.1 408 ")


def test_silent_connection_is_closed_without_a_response() -> None:
    with serving(QUICK) as found, found.dial() as client:
        assert client.recv(1) == b""


def test_keep_alive_connection_times_out_like_a_new_one() -> None:
    with serving(QUICK) as found, found.dial() as client:
        client.sendall(request("/1"))
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
        assert client.recv(1) == b""


@pytest.mark.parametrize("path", ["/large", "/drip"])
def test_a_client_that_does_not_read_its_answer_is_closed(path: str) -> None:
    with serving(QUICK) as found, found.dial() as client:
        client.sendall(request(path))
        until(lambda: bool(found.echo.answered))
        assert found.server.in_flight == 1
        until(lambda: len(found.server) == 0)
