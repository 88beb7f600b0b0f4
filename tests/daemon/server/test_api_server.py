"""Rejected requests: each has its answer, in the one form."""

import pytest

from fabric.daemon.server.api_server import ServerLimits
from tests.daemon.server.serving import Reply, all_of, reply_in, request, serving
from tests.support.until import until

MIB = 1024 * 1024
CASES = {
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400, "request/malformed"),
    "no request": (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400, "request/malformed"),
    "two lengths": (
        request("POST /validate", "Content-Length: 2", "Content-Length: 2"), 400,
        "request/malformed",
    ),
    "two keys": (request("GET /", "X-API-Key: a", "X-API-Key: b"), 400, "request/malformed"),
    "two origins": (request("GET /", "Origin: a", "Origin: b"), 400, "request/malformed"),
    "the server itself as target": (request("OPTIONS *"), 400, "request/malformed"),
    "NUL in the path": (request("GET /a%00b"), 400, "request/malformed"),
    "a path that is no text": (request("GET /dep%ffloy"), 400, "request/malformed"),
    "two slashes at the front": (request("GET //healthz"), 400, "request/malformed"),
    "a bad chunk": (
        request("POST /validate", "Transfer-Encoding: chunked") + b"zz\r\n\r\n", 400,
        "request/malformed",
    ),
    "another host": (request(host="other.example"), 421, "request/unknown-host"),
    "an unknown encoding": (
        request("POST /validate", "Transfer-Encoding: gzip"), 501, "request/unknown-encoding",
    ),
    "HTTP/2": (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505, "request/other-version"),
    "64 KB of headers": (
        request("GET /", *(f"A{i}: {'x' * 1000}" for i in range(64))), 431,
        "request/header-too-large",
    ),
    "2 GB announced": (
        request("POST /validate", "Content-Length: 2147483648"), 413, "request/too-large",
    ),
    "1 byte too many announced": (
        request("POST /validate", f"Content-Length: {MIB + 1}"), 413, "request/too-large",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_invalid_requests_are_rejected_in_the_standard_format(case: str) -> None:
    sent, status, code = CASES[case]
    with serving() as found:
        reply = found.ask(sent)
        assert found.ask(request()).status == 200
    assert reply.status == status
    assert reply.code == code
    assert reply.headers["connection"] == "close"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "server" not in reply.headers
    assert found.app.asked == ["GET /readyz"]
    assert [line["status"] for line in found.log] == [status, 200]
    assert found.log[0]["id"] == reply.headers["x-request-id"] != ""


def sent_whole(body: bytes, *headers: str) -> Reply:
    with serving() as found:
        return found.ask(request("POST /validate", *headers), body)


def test_a_body_may_have_1_mib_and_not_a_byte_more() -> None:
    fits = sent_whole(b"x" * MIB, f"Content-Length: {MIB}")
    assert (fits.status, fits.json["size"]) == (200, MIB)
    over = sent_whole(b"x" * (MIB + 1), f"Content-Length: {MIB + 1}")
    assert (over.status, over.code) == (413, "request/too-large")


def test_rejected_upload_gets_no_100_continue() -> None:
    with serving() as found:
        large = found.ask(
            request("POST /validate", "Content-Length: 9999999", "Expect: 100-continue")
        )
        assert large.status == 413
        with found.dial() as client:
            client.sendall(request("POST /validate", "Content-Length: 2", "Expect: 100-continue"))
            assert client.recv(100).startswith(b"HTTP/1.1 100 ")
            client.sendall(b"{}")
            assert reply_in(all_of(client)).json["size"] == 2


PATHS = (
    "/a//b", "/..", "/../../etc/passwd", "/%2e%2e/", "/runs%2fx", "/?", "/ä", "/%", "/%zz", "/;a",
)  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "BREW"])
def test_strange_paths_and_methods_never_break_anything(method: str) -> None:
    with serving() as found:
        for path in PATHS:
            assert found.ask(request(f"{method} {path}")).status in (200, 400)
        assert not [line for line in found.log if line["event"] == "error"]


QUICK = ServerLimits(threads=4, header_seconds=0.2, request_seconds=0.4, idle_seconds=0.2)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: local",
        request("POST /validate", "Content-Length: 9") + b"x",
    ],
)
def test_half_a_request_is_answered_once_it_took_too_long(sent: bytes) -> None:
    with serving(limits=QUICK) as found:
        reply = found.ask(sent)
    assert (reply.status, reply.code) == (408, "request/too-slow")


def test_busy_response_is_returned_if_all_connections_are_working() -> None:
    few = ServerLimits(threads=4, connections=2)
    with serving(limits=few) as found:
        busy = [found.dial() for _ in range(2)]
        for one in busy:
            one.sendall(request("GET /wait"))
        until(lambda: len(found.app.asked) == 2)
        with found.dial() as client:
            reply = reply_in(all_of(client))
        assert (reply.status, reply.code) == (503, "server/busy")
        assert reply.headers["retry-after"] == "1"
        found.app.go_on.set()
        assert [reply_in(all_of(one)).status for one in busy] == [200, 200]
        for one in busy:
            one.close()


def test_stream_ends_at_the_next_write_after_the_reader_disconnects() -> None:
    with serving() as found:
        with found.dial() as client:
            client.sendall(request("GET /beats"))
            until(lambda: b"beat" in client.recv(1 << 16))
        until(lambda: bool(found.log))
