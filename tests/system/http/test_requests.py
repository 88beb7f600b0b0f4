"""Requests as bytes: what is understood, in whatever pieces it comes, and what is refused."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.local.http_request import (
    LARGEST_BODY,
    BadRequestError,
    RequestHead,
    ServedRequest,
    is_loopback,
    take_body,
    take_head,
)

HOST = b"Host: localhost:8787\r\n"
GET = b"GET /a?b=c HTTP/1.1\r\n" + HOST + b"X-One: 1\r\nx-one: 2\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"POST /a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    b"3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n"
)


def read(*pieces: bytes) -> ServedRequest | None:
    """As a connection reads: head first, then the body."""
    buffer, chunks = bytearray(), bytearray()
    head: RequestHead | None = None
    for piece in pieces:
        buffer += piece
        head = head or take_head(buffer)
        if head is not None:
            body = take_body(buffer, head.size, chunks)
            if body is not None:
                assert not buffer
                return ServedRequest(head, body)
    return None


def test_a_request_is_read() -> None:
    found = read(GET)
    assert found
    assert (found.head.method, found.head.path, found.head.query) == ("GET", "/a", "b=c")
    assert found.head.header("x-one") == "1, 2"
    assert found.head.keeps


@pytest.mark.parametrize("text", [POST, CHUNKED], ids=["sized", "chunked"])
def test_a_body_is_read(text: bytes) -> None:
    found = read(text)
    assert found
    assert found.body == b"hello"


@given(st.sampled_from([GET, POST, CHUNKED]), st.lists(st.integers(0, 200), max_size=8))
def test_a_request_may_come_in_any_pieces(text: bytes, cuts: list[int]) -> None:
    marks = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[start:end] for start, end in itertools.pairwise(marks)]
    assert read(*pieces) == read(text)


def head(*lines: bytes, first: bytes = b"GET / HTTP/1.1") -> bytes:
    return b"\r\n".join((first, *lines)) + b"\r\n\r\n"


REFUSED = {
    "no-http": (head(b"Host: localhost", first=b"hello"), 400),
    "http-2": (head(b"Host: localhost", first=b"PRI * HTTP/2.0"), 400),
    "blank-in-target": (head(b"Host: localhost", first=b"GET /a b HTTP/1.1"), 400),
    "no-host": (head(), 400),
    "two-hosts": (head(b"Host: localhost", b"Host: localhost"), 400),
    "foreign-host": (head(b"Host: evil.example"), 421),
    "like-loopback": (head(b"Host: 127.0.0.1.evil.example"), 421),
    "foreign-target": (head(b"Host: localhost", first=b"GET http://evil.example/ HTTP/1.1"), 421),
    "userinfo": (head(b"Host: localhost", first=b"GET http://localhost@evil/ HTTP/1.1"), 400),
    "no-path": (head(b"Host: localhost", first=b"CONNECT localhost:80 HTTP/1.1"), 400),
    "folded-header": (head(b"Host: localhost", b" more"), 400),
    "nul": (head(b"Host: localhost", b"A: \x00"), 400),
    "blank-before-colon": (head(b"Host: localhost", b"A : b"), 400),
    "length-and-chunks": (
        head(b"Host: localhost", b"Content-Length: 1", b"Transfer-Encoding: chunked"),
        400,
    ),
    "two-lengths": (head(b"Host: localhost", b"Content-Length: 1", b"Content-Length: 2"), 400),
    "signed-length": (head(b"Host: localhost", b"Content-Length: +1"), 400),
    "chunks-before-1.1": (head(b"Transfer-Encoding: chunked", first=b"POST /a HTTP/1.0"), 400),
    "other-coding": (head(b"Host: localhost", b"Transfer-Encoding: gzip, chunked"), 501),
    "large": (head(b"Host: localhost", b"Content-Length: %d" % (LARGEST_BODY + 1)), 413),
    "huge": (head(b"Host: localhost", b"Content-Length: " + b"9" * 30), 413),
    "many-headers": (head(b"Host: localhost", *[b"A: b"] * 300), 431),
    "long-head": (head(b"Host: localhost", b"A: " + b"b" * 70_000), 431),
    "bare-line-feeds": (b"GET / HTTP/1.1\nHost: localhost\n\n", 400),
}


@pytest.mark.parametrize(("text", "status"), REFUSED.values(), ids=REFUSED)
def test_ambiguous_request_is_refused(text: bytes, status: int) -> None:
    with pytest.raises(BadRequestError) as caught:
        read(text)
    assert caught.value.status == status


@pytest.mark.parametrize(
    "chunk", [b"x\r\n", b"-1\r\n", b"3\r\nhello\r\n", b"AAAAAAA\r\n", b"5\n", b"0\r\nX: y\n\n"]
)
def test_chunk_with_wrong_size_is_refused(chunk: bytes) -> None:
    with pytest.raises(BadRequestError):
        read(head(b"Host: localhost", b"Transfer-Encoding: chunked") + chunk)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:1", "api.localhost:80", "127.0.0.1:8787", "127.8.9.1", "[::1]:1"],
)
def test_names_of_this_machine_are_served(host: str) -> None:
    assert is_loopback(host.lower())


def test_an_absolute_target_counts_from_its_path_on() -> None:
    found = read(head(b"Host: x", first=b"GET http://localhost:1/a?b HTTP/1.1"))
    assert found
    assert found.head.target == "/a?b"


@pytest.mark.parametrize("host", ["name.example.net", "NAME.example.net:443"])
def test_a_tunnel_has_a_name_that_requests_may_be_for_too(host: str) -> None:
    text = f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    assert take_head(bytearray(text), frozenset({"name.example.net"}))
    with pytest.raises(BadRequestError):
        take_head(bytearray(text), frozenset({"example.net"}))
    with pytest.raises(BadRequestError):
        take_head(bytearray(text))
