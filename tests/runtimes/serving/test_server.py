"""What a container's server does for all handlers, whatever they answer."""

import concurrent.futures
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtimes.serving.sources import handler
from tests.support.served_function import Reply, Served, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["nodejs", "python"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    language: str = request.param
    folder = tmp_path_factory.mktemp(language)
    with serving(language, folder, handler(language, "server"), {}, MODE="dark") as made:
        yield made


def test_handler_sees_only_its_environment(served: Served) -> None:
    assert served.ask("GET", "/env").json == ["dark", []]


def test_calls_go_on_side_by_side(served: Served) -> None:
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies: list[Reply] = list(pool.map(lambda _: served.ask("GET", "/slow"), range(8)))
    assert {one.body for one in replies} == {b"slow"}


def test_response_is_sent_in_one_packet_on_a_persistent_connection(served: Served) -> None:
    """In two, the second would wait for the first to be acknowledged: forty milliseconds a call."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as kept:
        for _ in range(5):
            kept.sendall(b"GET /env HTTP/1.1\r\nHost: here\r\n\r\n")
            assert kept.recv(1 << 16).endswith(b"[]]")


@pytest.mark.parametrize(
    "head",
    [
        "content-length: -1\r\n\r\n",
        "content-length: abc\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n7000000\r\n",
        "transfer-encoding: chunked\r\n\r\n-1\r\n",
    ],
)
def test_a_body_without_a_valid_size_is_refused_unread(head: str, tmp_path: Path) -> None:
    with (
        serving("python", tmp_path, handler("python", "server"), {}) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection,
    ):
        connection.sendall(f"POST / HTTP/1.1\r\nhost: a\r\n{head}".encode())
        assert connection.recv(64).startswith(b"HTTP/1.1 413 ")
