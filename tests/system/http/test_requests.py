"""Requests as bytes: what is understood, in whatever pieces it comes, and what is refused."""

import itertools
from collections.abc import Sequence

import h11
import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.system.http.requests import (
    BadRequestError,
    BodyReader,
    Headers,
    RequestHead,
    ServedRequest,
    take_head,
)

HEAD_BYTES, BODY_BYTES = 16 * 1024, 1024 * 1024
HOST = b"Host: localhost:8787\r\n"
GET = b"GET /a?b=c HTTP/1.1\r\n" + HOST + b"X-One: 1\r\nx-one: 2\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"POST /a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    b'3;x=y;z="a b"\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n'
)


def read(*pieces: bytes) -> ServedRequest | None:
    """As a connection reads: head first, then the body. None if it is no single request."""
    buffer = bytearray()
    head: RequestHead | None = None
    reader: BodyReader | None = None
    for piece in pieces:
        buffer += piece
        head = head or take_head(buffer, HEAD_BYTES)
        if head is not None:
            reader = reader or BodyReader(head.size, BODY_BYTES)
            body = reader.take(buffer)
            if body is not None:
                return None if buffer else ServedRequest(head, body)
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


def hosted(*lines: bytes, first: bytes = b"GET / HTTP/1.1") -> bytes:
    return head(b"Host: localhost", *lines, first=first)


CHUNKS = b"Transfer-Encoding: chunked"
REFUSED = {
    "no-http": (hosted(first=b"hello"), 400),
    "tls": (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
    "no-version": (b"GET /\r\n\r\n", 400),
    "http-2": (hosted(first=b"GET / HTTP/2.0"), 505),
    "http-1.2": (hosted(first=b"GET / HTTP/1.2"), 505),
    "preface-of-http-2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "lowercase-method": (hosted(first=b"get / HTTP/1.1"), 400),
    "blank-in-target": (hosted(first=b"GET /a b HTTP/1.1"), 400),
    "control-in-target": (hosted(first=b"GET /a\x01 HTTP/1.1"), 400),
    "other-characters-in-target": (hosted(first="GET /ä HTTP/1.1".encode()), 400),
    "fragment": (hosted(first=b"GET /a#b HTTP/1.1"), 400),
    "no-host": (head(), 400),
    "empty-host": (head(b"Host:"), 400),
    "two-hosts": (hosted(b"Host: localhost"), 400),
    "foreign-target": (hosted(first=b"GET http://evil.example/ HTTP/1.1"), 400),
    "target-without-host": (hosted(first=b"GET http:/a HTTP/1.1"), 400),
    "target-without-path": (hosted(first=b"GET http://localhost HTTP/1.1"), 400),
    "target-of-an-invalid-host": (hosted(first=b"GET http://[::1/a HTTP/1.1"), 400),
    "userinfo": (head(b"Host: a@b", first=b"GET http://a@b/ HTTP/1.1"), 400),
    "no-path": (hosted(first=b"CONNECT localhost:80 HTTP/1.1"), 400),
    "folded-header": (hosted(b" more"), 400),
    "nameless-header": (hosted(b": more"), 400),
    "nul": (hosted(b"A: \x00"), 400),
    "carriage-return": (hosted(b"A: b\rC: d"), 400),
    "line-feed": (hosted(b"A: b\nC: d"), 400),
    "blank-before-colon": (hosted(b"A : b"), 400),
    "length-and-chunks": (hosted(b"Content-Length: 1", CHUNKS), 400),
    "chunks-and-length": (hosted(CHUNKS, b"Content-Length: 1"), 400),
    "two-lengths": (hosted(b"Content-Length: 1", b"Content-Length: 2"), 400),
    "two-equal-lengths": (hosted(b"Content-Length: 1", b"Content-Length: 1"), 400),
    "list-of-lengths": (hosted(b"Content-Length: 1, 1"), 400),
    "signed-length": (hosted(b"Content-Length: +1"), 400),
    "negative-length": (hosted(b"Content-Length: -1"), 400),
    "digits-of-other-scripts": (hosted(b"Content-Length: \xb2"), 400),
    "long-length": (hosted(b"Content-Length: " + b"9" * 30), 400),
    "chunks-before-1.1": (head(CHUNKS, first=b"POST /a HTTP/1.0"), 400),
    "other-coding": (hosted(b"Transfer-Encoding: gzip"), 501),
    "nearly-known-coding": (hosted(b"Transfer-Encoding: xchunked"), 501),
    "two-codings": (hosted(b"Transfer-Encoding: gzip, chunked"), 400),
    "two-coding-headers": (hosted(CHUNKS, CHUNKS), 400),
    "large": (hosted(b"Content-Length: %d" % (BODY_BYTES + 1)), 413),
    "large-chunks": (hosted(CHUNKS) + b"%x\r\n" % (BODY_BYTES + 1), 413),
    "many-headers": (hosted(*[b"A: b"] * 300), 431),
    "long-head": (hosted(b"A: " + b"b" * HEAD_BYTES), 431),
    "long-line": (b"GET /" + b"a" * HEAD_BYTES, 431),
    "long-trailers": (hosted(CHUNKS) + b"0\r\nA: " + b"b" * HEAD_BYTES, 431),
    "line-feeds": (b"GET / HTTP/1.1\nHost: localhost\n\n", 400),
    "line-feed-before-the-end": (b"GET / HTTP/1.1\r\nHost: localhost\n", 400),
    "line-feed-before-the-request": (b"\n" + GET, 400),
}


@pytest.mark.parametrize(("text", "status"), REFUSED.values(), ids=REFUSED)
def test_ambiguous_request_is_refused(text: bytes, status: int) -> None:
    with pytest.raises(BadRequestError) as caught:
        read(text)
    assert caught.value.status == status


@pytest.mark.parametrize(
    "chunk",
    [
        b"x\r\n", b"-1\r\n", b"0x1\r\n", b"3\r\nhello\r\n", b"3\r\nhelx", b"AAAAAAA\r\n",
        b"5\n", b"5\r\nhello\n", b"123456789", b"1 \r\n", b"1;\r\n", b"1;a=\x00\r\n", b"\r\n",
        b"1;a=" + b"b" * 2000, b"0\r\nX: y\n\n", b"0\r\nX y\r\n\r\n",
    ],
)  # fmt: skip
def test_invalid_chunk_is_refused_as_soon_as_it_is_there(chunk: bytes) -> None:
    with pytest.raises(BadRequestError):
        read(hosted(CHUNKS) + chunk)


def test_only_the_content_of_chunks_counts_for_the_limit() -> None:
    chunk = b"400;a=b\r\n%b\r\n" % (b"x" * 1024)
    found = read(hosted(CHUNKS), *[chunk] * 1024, b"0\r\n\r\n")
    assert found
    assert len(found.body) == BODY_BYTES
    with pytest.raises(BadRequestError) as caught:
        read(hosted(CHUNKS), *[chunk] * 1024, b"1\r\n")
    assert caught.value.status == 413


def test_a_rejected_request_is_known_by_its_request_line() -> None:
    with pytest.raises(BadRequestError) as caught:
        read(head(first=b"PUT /a?b HTTP/1.1"))
    assert (caught.value.method, caught.value.target) == ("PUT", "/a?b")


def test_an_absolute_target_counts_from_its_path_on() -> None:
    found = read(head(b"Host: LOCALHOST:1", first=b"GET http://localhost:1/a?b HTTP/1.1"))
    assert found
    assert found.head.target == "/a?b"


@pytest.mark.parametrize(
    ("first", "connection", "keeps"),
    [
        (b"GET / HTTP/1.1", b"", True),
        (b"GET / HTTP/1.1", b"x, Close", False),
        (b"GET / HTTP/1.1", b"closed", True),
        (b"GET / HTTP/1.0", b"", False),
        (b"GET / HTTP/1.0", b"Keep-Alive", True),
    ],
)
def test_connection_is_kept_as_its_version_says(
    first: bytes, connection: bytes, *, keeps: bool
) -> None:
    found = read(hosted(b"Connection: " + connection, first=first))
    assert found
    assert found.head.keeps is keeps


# Two other parsers read each accepted request in the same way.

Reading = tuple[str, str, Headers, bytes]


def read_by_h11(text: bytes) -> Reading:
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=4 * HEAD_BYTES)
    parser.receive_data(text)
    request = parser.next_event()
    assert isinstance(request, h11.Request)
    body = b""
    while isinstance(event := parser.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    assert parser.trailing_data == (b"", False)
    return request.method.decode(), request.target.decode(), texts_of(request.headers), body


class Collected:
    """The callbacks of httptools."""

    def __init__(self) -> None:
        self.target = self.body = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.count = 0
        self.is_in_body = False

    def on_url(self, part: bytes) -> None:
        self.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_in_body:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self.is_in_body = True

    def on_body(self, part: bytes) -> None:
        self.body += part

    def on_message_complete(self) -> None:
        self.count += 1


def read_by_httptools(text: bytes) -> Reading:
    found = Collected()
    parser = httptools.HttpRequestParser(found)
    parser.feed_data(text)
    assert found.count == 1
    method = parser.get_method().decode()
    return method, found.target.decode(), texts_of(found.headers), found.body


def texts_of(headers: Sequence[tuple[bytes, bytes]]) -> Headers:
    return tuple(
        (name.decode().lower(), value.strip(b" \t").decode("latin-1")) for name, value in headers
    )


METHODS = (b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS")
_TARGETS = st.one_of(
    st.sampled_from([b"/", b"*", b"//a", b"/a?b=c&d", b"/%00%ff", b"http://localhost/a", b"a"]),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=12).map(
        lambda text: b"/" + text.encode()
    ),
)
_VALUES = st.one_of(
    st.sampled_from([b"", b"a", b" a\tb ", b"\xe4", b"a: b", b"close", b"keep-alive"]),
    st.binary(max_size=6),
)
_NAMES = st.sampled_from(
    [b"A", b"x-Two", b"X_3", b"Cookie", b"Connection", b"~!", b"", b"Host", b"Content-Length"]
)
_SIZES = st.sampled_from([b"%x", b"%X", b"0%x", b"%x;a", b"%x;a=b", b'%x;a="b c"', b"%x ", b"%x;"])


_LINES = st.lists(
    st.builds(
        lambda name, colon, value: name + colon + value,
        _NAMES,
        st.sampled_from([b":", b": ", b":\t"]),
        _VALUES,
    ),
    max_size=4,
)
_VERSIONS = st.sampled_from([b"1.1", b"1.1", b"1.1", b"1.0"])
_TRAILERS = st.sampled_from([b"", b"", b"A: b\r\n", b"A : b\r\n"])
_CONTENTS = st.lists(st.sampled_from([b"a", b"\r\n0\r\n\r\n", b"\x00\xff" * 9]), max_size=3)
_INSERTED = st.sampled_from([b"", b"\n", b"\r", b"\r\n", b" ", b"\t", b"\x00", b":", b",", b"0"])


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """Mostly valid requests, half of them with an added, changed or removed byte."""
    first = draw(st.sampled_from(METHODS)) + b" " + draw(_TARGETS) + b" HTTP/" + draw(_VERSIONS)
    lines = [first, b"Host: localhost", *draw(_LINES)]
    content, body = draw(_CONTENTS), b""
    kind = draw(st.sampled_from(["none", "sized", "chunked"]))
    if kind == "sized":
        body = b"".join(content)
        lines.append(b"Content-Length: %d" % len(body))
    elif kind == "chunked":
        lines.append(b"Transfer-Encoding: chunked")
        chunks = [b"%b\r\n%b\r\n" % (draw(_SIZES) % len(part), part) for part in content]
        body = b"".join((*chunks, b"0\r\n", draw(_TRAILERS), b"\r\n"))
    text = b"\r\n".join((*lines, b"", body))
    place = draw(st.integers(0, 2 * len(text)))
    inserted, removed = draw(_INSERTED), draw(st.integers(0, 1))
    return text[:place] + inserted + text[place + removed :] if place < len(text) else text


@given(requests())
@settings(max_examples=300)
def test_accepted_requests_are_read_equally_by_other_parsers(text: bytes) -> None:
    try:
        found = read(text)
    except BadRequestError:
        return
    # httptools knows only a list of methods.
    if found is None or found.head.method.encode() not in METHODS:
        return
    head = found.head
    own = (head.method, head.target, head.headers, found.body)
    # Empty lines before a request are ignored; h11 refuses them.
    whole = text[text.index(head.method.encode()) :]
    for method, target, *rest in (read_by_h11(whole), read_by_httptools(whole)):
        assert (method, target.removeprefix("http://localhost"), *rest) == own
