"""The proof that a tunnel leads to this very process, over real sockets."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fabric.app.local.dev_stream import Tunnel, parse_tunnel, verify_tunnel
from fabric.local.http_service import TunnelEnd
from fabric.model.problems import FabricError

END = TunnelEnd("name.example.net", "a-word-that-nobody-knows")
MINE = (200, END.nonce)


@contextlib.contextmanager
def answering(answers: Sequence[tuple[int, str]]) -> Iterator[tuple[Tunnel, list[str]]]:
    """One after the other, and the last of them again and again."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802 - the name that the server looks for
            status, text = answers[min(len(asked), len(answers) - 1)]
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Tunnel(f"http://127.0.0.1:{server.server_address[1]}", "127.0.0.1"), asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def at_once(_seconds: float) -> bool:
    return False


def told_to_end(_seconds: float) -> bool:
    return True


def test_the_word_of_this_process_is_the_proof() -> None:
    with answering([MINE]) as (tunnel, asked):
        assert verify_tunnel(tunnel, END, at_once)
    assert asked == [f"/.fabric/dev/{END.nonce}"]


def test_a_tunnel_that_needs_a_moment_is_given_it() -> None:
    with answering([(502, "starting"), (503, ""), MINE]) as (tunnel, asked):
        assert verify_tunnel(tunnel, END, at_once)
    assert len(asked) == 3


def test_stop_request_ends_tunnel_check_without_waiting() -> None:
    with answering([(502, "starting")]) as (tunnel, asked):
        assert not verify_tunnel(tunnel, END, told_to_end)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, "somebody"), "another server returned 200"),
        ((404, "secret words"), "another server returned 404"),
        ((308, END.nonce), "redirects to another URL"),
        ((502, ""), "another server returned 502"),
    ],
)
def test_tunnel_to_another_target_is_rejected_without_its_response_text(
    answer: tuple[int, str], said: str
) -> None:
    with answering([answer]) as (tunnel, asked), pytest.raises(FabricError, match=said) as raised:
        verify_tunnel(tunnel, END, at_once)
    assert raised.value.first.code == "dev/other-tunnel"
    assert "secret" not in str(raised.value)
    assert not any("elsewhere" in path for path in asked)


def test_unreachable_tunnel_is_an_error_after_retries() -> None:
    with answering([MINE]) as (tunnel, _):
        pass
    with pytest.raises(FabricError) as raised:
        verify_tunnel(tunnel, END, at_once)
    assert raised.value.first.code == "provider/unreachable"
    assert END.nonce not in str(raised.value)


def test_tunnel_address_is_parsed_without_redundant_parts() -> None:
    assert parse_tunnel("http://localhost:80/") == Tunnel("http://localhost:80", "localhost")
    assert parse_tunnel("HTTP://LOCALHOST").host == "localhost"
