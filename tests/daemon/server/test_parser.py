"""Bytes that are no good request: each has its answer, in the one form."""

import time

import pytest

from fabric.daemon.server.api_server import ServerLimits
from tests.daemon.server.serving import Reply, all_of, reply_in, request, serving
from tests.support.until import until

MIB = 1024 * 1024
CLOSE = "Connection: close"
CASES = {
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
    "both lengths": (
        request("POST /validate", "Content-Length: 2", "Transfer-Encoding: chunked"), 400,
    ),
    "two lengths": (request("POST /validate", "Content-Length: 2", "Content-Length: 2"), 400),
    "a list of lengths": (request("POST /validate", "Content-Length: 2, 2"), 400),
    "a length below zero": (request("POST /validate", "Content-Length: -1"), 400),
    "a length of 5,000 digits": (request("POST /validate", "Content-Length: " + "9" * 5000), 400),
    "another host as target": (request("GET http://other.example/readyz"), 400),
    "a target without its host": (request("GET http:/readyz"), 400),
    "a target that is none": (request("GET http://[::1/readyz"), 400),
    "the server itself as target": (request("OPTIONS *"), 400),
    "an unknown encoding": (request("POST /validate", "Transfer-Encoding: gzip"), 501),
    "one that is nearly known": (request("POST /validate", "Transfer-Encoding: xchunked"), 501),
    "twice encoded": (request("POST /validate", "Transfer-Encoding: chunked, chunked"), 400),
    "chunks in 1.0": (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "HTTP/2": (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "no version": (b"GET /\r\n\r\n", 400),
    "no request": (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
    "a method in small letters": (request("get /"), 400),
    "a header that goes on": (request("GET /", "A: b\r\n c"), 400),
    "a header without a name": (request("GET /", ": b"), 400),
    "a space before the colon": (request("GET /", "Content-Length : 2"), 400),
    "NUL in a header": (request("GET /", "A: \x00"), 400),
    "a line that ends early": (request("GET /", "A: b\nC: d"), 400),
    "newlines alone": (b"GET /readyz HTTP/1.1\nHost: localhost\n\n", 400),
    "a newline alone before the end": (b"GET /readyz HTTP/1.1\r\nHost: localhost\n", 400),
    "a newline alone before the request": (b"\n" + request("GET /readyz"), 400),
    "NUL in the path": (request("GET /a%00b"), 400),
    "a path that is no text": (request("GET /dep%ffloy"), 400),
    "two slashes at the front": (request("GET //healthz"), 400),
    "a bad chunk": (request("POST /validate", "Transfer-Encoding: chunked") + b"zz\r\n\r\n", 400),
    "a chunk without its end": (
        request("POST /validate", "Transfer-Encoding: chunked") + b"2\r\nabcd\r\n0\r\n\r\n", 400,
    ),
    "64 KB of headers": (request("GET /", *(f"A{i}: {'x' * 1000}" for i in range(64))), 431),
    "one long line": (b"GET /" + b"a" * 64_000, 431),
    "2 GB announced": (request("POST /validate", "Content-Length: 2147483648"), 413),
    "1 byte too many announced": (request("POST /validate", f"Content-Length: {MIB + 1}"), 413),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_invalid_requests_are_rejected_in_the_standard_format(case: str) -> None:
    sent, status = CASES[case]
    with serving() as found:
        reply = found.ask(sent)
        assert found.ask(request()).status == 200
    assert reply.status == status
    assert reply.code.startswith("request/")
    assert reply.headers["connection"] == "close"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "server" not in reply.headers
    assert found.app.asked == ["GET /readyz"]
    assert [line["status"] for line in found.log] == [status, 200]
    assert found.log[0]["id"] == reply.headers["x-request-id"] != ""


def sent_whole(body: bytes, *headers: str) -> Reply:
    with serving() as found:
        return found.ask(request("POST /validate", *headers), body)


def chunks(size: int, of: int) -> bytes:
    rest, sizes = size % of, [of] * (size // of)
    parts = (b"%x\r\n%s\r\n" % (one, b"x" * one) for one in [*sizes, *([rest] if rest else [])])
    return b"".join(parts) + b"0\r\n\r\n"


def test_a_body_may_have_1_mib_and_not_a_byte_more() -> None:
    fits = sent_whole(b"x" * MIB, f"Content-Length: {MIB}")
    assert (fits.status, fits.json["size"]) == (200, MIB)
    over = sent_whole(b"x" * (MIB + 1), f"Content-Length: {MIB + 1}")
    assert (over.status, over.code) == (413, "request/too-large")


def test_chunked_body_size_counts_payload_only() -> None:
    fits = sent_whole(chunks(MIB, 1000), "Transfer-Encoding: chunked")
    assert (fits.status, fits.json["size"]) == (200, MIB)
    over = sent_whole(chunks(MIB + 1, 4096), "Transfer-Encoding: chunked")
    assert (over.status, over.code) == (413, "request/too-large")


def test_client_sending_4_mb_in_chunks_can_read_the_rejection() -> None:
    reply = sent_whole(chunks(4 * MIB, 65_536), "Transfer-Encoding: chunked")
    assert (reply.status, reply.code) == (413, "request/too-large")


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


def test_pipelined_requests_are_answered_in_order() -> None:
    one = b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving() as found, found.dial() as client:
        client.sendall(one % 1 + one % 2 + request("GET /3"))
        answers = all_of(client).split(b"HTTP/1.1 200 OK")
    assert [reply_in(b"HTTP/1.1 200 OK" + text).json["path"] for text in answers[1:]] == [
        "/1",
        "/2",
        "/3",
    ]


def test_data_after_a_rejected_request_is_ignored() -> None:
    hidden = request("POST /deploy")
    with serving() as found:
        sent = request("POST /validate", "Content-Length: 9999999") + hidden
        assert found.ask(sent).status == 413
        assert found.ask(request("BAD") + hidden).status == 400
        assert found.app.asked == []


@pytest.mark.parametrize(
    "path",
    ["/a//b", "/..", "/../../etc/passwd", "/%2e%2e/", "/runs%2fx", "/?", "/ä", "/%", "/%zz", "/;a"],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "BREW"])
def test_strange_paths_and_methods_never_break_anything(method: str, path: str) -> None:
    with serving() as found:
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


def test_a_body_that_drips_is_too_slow_as_well() -> None:
    with serving(limits=QUICK) as found, found.dial() as client:
        client.sendall(request("POST /validate", "Content-Length: 100000"))
        answer: list[bytes] = []
        client.settimeout(0.05)

        def dripped() -> bool:
            try:
                client.sendall(b"x")
                answer.append(client.recv(1 << 16))
            except TimeoutError:
                return False
            return True

        until(dripped)
    assert reply_in(answer[0]).status == 408


def test_silent_connection_is_closed_without_a_response() -> None:
    with serving(limits=QUICK) as found, found.dial() as client:
        assert client.recv(1) == b""


def test_keep_alive_connection_times_out_like_a_new_one() -> None:
    with serving(limits=QUICK) as found, found.dial() as client:
        client.sendall(b"GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
        assert client.recv(1) == b""


def test_half_open_connections_do_not_block_others() -> None:
    with serving() as found:
        idle = [found.dial() for _ in range(500)]
        for one in idle[::2]:
            one.sendall(b"POST /validate HTTP/1.1\r\nHost: ")
        assert found.ask(request()).status == 200
        for one in idle:
            one.close()


def test_longest_idle_connection_is_closed_if_all_are_taken() -> None:
    few = ServerLimits(threads=4, connections=20)
    with serving(limits=few) as found:
        idle = [found.dial() for _ in range(20)]
        until(lambda: found.server.connections == 20)
        assert found.ask(request()).status == 200
        assert idle[0].recv(1) == b""
        idle[-1].sendall(request())
        assert reply_in(all_of(idle[-1])).status == 200
        for one in idle:
            one.close()


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


def test_idle_connections_per_address_are_limited() -> None:
    few = ServerLimits(threads=4, idle_per_address=5)
    with serving(limits=few, shared=lambda _: False) as found:
        idle = [found.dial() for _ in range(5)]
        until(lambda: found.server.connections == 5)
        since = time.monotonic()
        until(lambda: time.monotonic() > since + 1.1)
        assert found.ask(request()).status == 200
        assert idle[0].recv(1) == b""
        assert found.server.connections <= 5
        for one in idle:
            one.close()


def test_a_client_that_reads_nothing_of_a_long_answer_holds_nothing_for_ever() -> None:
    with serving(limits=QUICK) as found, found.dial() as client:
        client.sendall(request("GET /endless"))
        until(lambda: bool(found.log))
        assert found.log[0]["bytes"] < 64 * MIB
        assert found.server.in_flight == 0


def test_stream_ends_at_the_next_write_after_the_reader_disconnects() -> None:
    with serving() as found:
        with found.dial() as client:
            client.sendall(request("GET /beats"))
            until(lambda: b"beat" in client.recv(1 << 16))
        until(lambda: bool(found.log))
