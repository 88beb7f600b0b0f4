"""How long somebody is waited for."""

import contextlib
import gzip
import socket
import threading
from collections.abc import Iterator

import pytest

from fabric.system.http.http_client import HttpRequest, open_http
from fabric.system.retry import Patience, TransientError


def test_request_timeout_limits_the_wait_for_a_response() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        http = open_http(Patience(tries=1))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(TransientError):
            http.send(HttpRequest("GET", url, seconds=0.05))
        http.close()


@contextlib.contextmanager
def answering(
    *lines: bytes, body: bytes, endless: bool = False
) -> Iterator[tuple[str, list[bytes]]]:
    """A server of one answer, and what it was asked."""
    asked: list[bytes] = []

    def serve(server: socket.socket) -> None:
        with contextlib.suppress(OSError), server.accept()[0] as channel:
            asked.append(channel.recv(1 << 16))
            channel.sendall(b"\r\n".join((b"HTTP/1.1 200 OK", *lines, b"", body)))
            while endless:
                channel.sendall(body)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/", asked
    thread.join()


def answer_of(url: str, most_bytes: int) -> bytes:
    http = open_http(Patience(tries=1), most_bytes)
    try:
        return http.send(HttpRequest("GET", url)).content
    finally:
        http.close()


@pytest.mark.parametrize("coding", [b"gzip", b"gzip, gzip", b"deflate", b"br"])
def test_a_compressed_answer_is_refused_before_it_is_inflated(coding: bytes) -> None:
    bomb = gzip.compress(gzip.compress(bytes(64 << 20)))
    length = b"Content-Length: %d" % len(bomb)
    with (
        answering(b"Content-Encoding: " + coding, length, body=bomb) as (url, asked),
        pytest.raises(TransientError, match="compressed"),
    ):
        answer_of(url, 1 << 30)
    assert b"accept-encoding: identity" in asked[0].lower()


def test_response_is_not_read_beyond_its_limit() -> None:
    with (
        answering(b"Connection: close", body=b"x" * 4096, endless=True) as (url, _),
        pytest.raises(TransientError, match="exceeds 100,000 bytes"),
    ):
        answer_of(url, 100_000)
    with answering(b"Content-Length: 5", body=b"whole") as (url, _):
        assert answer_of(url, 5) == b"whole"
