"""A websocket gives every message whole and once, however its bytes arrive."""

import contextlib
import socket
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType

from fabric.system.http.websocket import WebSocket, WebSocketError, open_websocket

_TEXT, _BINARY, _CONTINUED, _CLOSE, _PING, _PONG = 1, 2, 0, 8, 9, 10


@contextlib.contextmanager
def joined(rest: bytes = b"") -> Iterator[tuple[WebSocket, socket.socket]]:
    ours, theirs = socket.socketpair()
    frames = Connection(ConnectionType.CLIENT)
    if rest:
        frames.receive_data(rest)
    listener = WebSocket(ours, frames)
    try:
        yield listener, theirs
    finally:
        listener.close()
        theirs.close()


def frame(kind: int, content: bytes, *, is_last: bool = True) -> bytes:
    size = len(content)
    if size < 126:
        head = bytes((size,))
    else:
        head = (
            b"\x7e" + struct.pack("!H", size)
            if size < 1 << 16
            else b"\x7f" + struct.pack("!Q", size)
        )
    return bytes((kind | (0x80 if is_last else 0),)) + head + content


MESSAGES = st.lists(st.binary(max_size=300) | st.just(b"x" * 126), max_size=6)


@given(messages=MESSAGES, cuts=st.lists(st.integers(0, 2_000), max_size=8), parts=st.integers(1, 3))
def test_messages_are_whole_however_they_arrive(
    messages: list[bytes], cuts: list[int], parts: int
) -> None:
    sent = b"".join(_in_parts(one, parts) for one in messages)
    places = sorted({min(cut, len(sent)) for cut in cuts})
    found: list[bytes] = []
    with joined() as (listener, theirs):
        for begin, end in zip([0, *places], [*places, len(sent)], strict=True):
            theirs.sendall(sent[begin:end])
            found += listener.receive()
        assert found == messages


def _in_parts(message: bytes, count: int) -> bytes:
    """With a ping between the parts, as it may be."""
    width = max(-(-len(message) // count), 1)
    pieces = [message[at : at + width] for at in range(0, max(len(message), 1), width)]
    frames = [
        frame(_CONTINUED if number else _BINARY, one, is_last=number == len(pieces) - 1)
        for number, one in enumerate(pieces)
    ]
    return frame(_PING, b"p").join(frames)


def test_a_large_message_has_a_longer_head() -> None:
    with joined(frame(_TEXT, b"y" * 70_000)) as (listener, _):
        assert listener.receive() == [b"y" * 70_000]


def test_data_sent_with_the_handshake_is_not_lost() -> None:
    with joined(frame(_TEXT, b"early")) as (listener, _):
        assert listener.receive() == [b"early"]


def test_ping_is_answered_with_a_masked_pong() -> None:
    with joined() as (listener, theirs):
        theirs.sendall(frame(_PING, b"word"))
        assert listener.receive() == []
        head, mask, content = theirs.recv(2), theirs.recv(4), theirs.recv(9)
        assert head == bytes((0x80 | _PONG, 0x80 | 4))
        assert bytes(one ^ mask[place % 4] for place, one in enumerate(content)) == b"word"


@pytest.mark.parametrize("last", [frame(_CLOSE, b""), b""])
def test_data_arriving_with_the_close_is_not_lost(last: bytes) -> None:
    with joined() as (listener, theirs):
        theirs.sendall(frame(_TEXT, b"one") + frame(_TEXT, b"two") + last)
        theirs.close()
        assert listener.receive() == [b"one", b"two"]
        for _ in range(2):
            with pytest.raises(WebSocketError):
                listener.receive()


@pytest.mark.parametrize(
    "wrong",
    [
        b"\x81\x81\0\0\0\0x",  # masked by a server
        b"\xc1\x01x",  # a reserved bit
        b"\x83\x01x",  # an unknown opcode
        b"\x09\x01x",  # a ping in parts
        b"\x89\x7e\x00\x7e" + b"x" * 126,  # a ping that is too long
        b"\x81\x01\xff",  # text that is not UTF-8
        b"\x80\x01x",  # a continuation of nothing
        b"\x81\x7e\x00\x01x",  # a length not in its shortest form
    ],
)
def test_protocol_error_closes_the_connection_and_is_not_a_message(wrong: bytes) -> None:
    with joined() as (listener, theirs):
        theirs.sendall(frame(_TEXT, b"good") + wrong)
        assert listener.receive() == [b"good"]
        with pytest.raises(WebSocketError):
            listener.receive()


@pytest.mark.parametrize("last", [frame(_CLOSE, b""), b""])
def test_closed_connection_is_reported(last: bytes) -> None:
    with joined() as (listener, theirs):
        theirs.sendall(last)
        theirs.close()
        with pytest.raises(WebSocketError):
            listener.receive()


def test_oversized_message_is_not_buffered() -> None:
    with joined(b"\x82\x7f" + struct.pack("!Q", 1 << 40) + b"x" * (16 << 20)) as (listener, theirs):
        theirs.sendall(b"more")
        with pytest.raises(WebSocketError, match="16 MB"):
            listener.receive()


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "ws://", "nothing"])
def test_an_address_of_something_else_is_refused(url: str) -> None:
    with pytest.raises(WebSocketError):
        open_websocket(url, "p", 1)


def test_non_websocket_response_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        # What is sent before anybody has asked waits for him.
        with pytest.raises(WebSocketError, match="returned status 200"), _answering(server):
            open_websocket(f"ws://127.0.0.1:{port}/", "p", 5)


@contextlib.contextmanager
def _answering(server: socket.socket) -> Iterator[None]:
    import threading

    def answer() -> None:
        link, _ = server.accept()
        with link:
            link.recv(65_536)
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        thread.join()
