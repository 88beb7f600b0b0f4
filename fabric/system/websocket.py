"""A websocket that somebody listens to: messages as they come, by the standard library alone."""

import base64
import hashlib
import os
import socket
import ssl
import struct
from collections.abc import Iterator, Sequence
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

_TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x1, 0x2, 0x8, 0x9, 0xA
_LAST, _MASKED = 0x80, 0x80
_SHORT, _LONG = 126, 127
_JOINED = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_READ = 1 << 16
_LARGEST_HEAD = 1 << 14
_LARGEST = 16 << 20
_HEAD_END = b"\r\n\r\n"
_UPGRADED = b" 101 "


class WebSocketError(OSError):
    """It could not be opened, or nothing more comes."""


class _WebSocketFrame(Struct, frozen=True):
    kind: int
    is_last: bool
    content: bytes


class WebSocket:
    """What it is asked for does not wait: `fileno` says to `select` when there is something."""

    def __init__(self, link: socket.socket, rest: bytes) -> None:
        link.settimeout(0)
        self._link = link
        self._bytes = bytearray(rest)
        self._parts: list[bytes] = []

    def fileno(self) -> int:
        return self._link.fileno()

    def received(self) -> list[bytes]:
        """All whole messages that are here; a WebSocketError when there will be no more."""
        self._read()
        return list(self._messages())

    def ping(self) -> None:
        self._send(_PING, b"")

    def close(self) -> None:
        self._link.close()

    def _read(self) -> None:
        while True:
            try:
                found = self._link.recv(_READ)
            except (BlockingIOError, ssl.SSLWantReadError):
                return
            except OSError as error:
                raise WebSocketError(str(error)) from error
            if not found:
                raise WebSocketError("the connection was closed")
            self._bytes += found
            if len(self._bytes) > _LARGEST:
                raise WebSocketError("a message is larger than 16 MB")

    def _messages(self) -> Iterator[bytes]:
        while frame := _taken(self._bytes):
            if frame.kind == _CLOSE:
                raise WebSocketError("it was ended there")
            if frame.kind == _PING:
                self._send(_PONG, frame.content)
            elif frame.kind != _PONG:
                self._parts.append(frame.content)
                if frame.is_last:
                    yield b"".join(self._parts)
                    self._parts.clear()

    def _send(self, kind: int, content: bytes) -> None:
        """What a listener sends is short: it goes out at once, or nobody is there."""
        mask = os.urandom(4)
        masked = bytes(one ^ mask[place % 4] for place, one in enumerate(content))
        try:
            self._link.send(bytes((_LAST | kind, _MASKED | len(content))) + mask + masked)
        except OSError as error:
            raise WebSocketError(str(error)) from error


def _taken(held: bytearray) -> _WebSocketFrame | None:
    """The first frame, taken out; None while it is not whole."""
    if len(held) < 2:  # noqa: PLR2004 - kind and length
        return None
    length, begin = held[1] & ~_MASKED, 2
    for short, form in ((_SHORT, "!H"), (_LONG, "!Q")):
        if length == short:
            begin = 2 + struct.calcsize(form)
            if len(held) < begin:
                return None
            (length,) = struct.unpack(form, held[2:begin])
            break
    if len(held) < begin + length:
        return None
    frame = _WebSocketFrame(
        held[0] & 0xF, bool(held[0] & _LAST), bytes(held[begin : begin + length])
    )
    del held[: begin + length]
    return frame


def open_websocket(url: str, protocol: str, seconds: float) -> WebSocket:
    parts = urlsplit(url)
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise WebSocketError("it is no address of a websocket")
    link = _connected(parts, seconds)
    try:
        rest = _shaken(link, parts, protocol)
    except OSError as error:
        link.close()
        raise WebSocketError(str(error)) from error
    return WebSocket(link, rest)


def _connected(parts: SplitResult, seconds: float) -> socket.socket:
    is_sealed = parts.scheme == "wss"
    host = parts.hostname or ""
    try:
        link = socket.create_connection((host, parts.port or (443 if is_sealed else 80)), seconds)
        if not is_sealed:
            return link
        return ssl.create_default_context().wrap_socket(link, server_hostname=host)
    except OSError as error:
        raise WebSocketError(f"{host}: {error}") from error


def _shaken(link: socket.socket, parts: SplitResult, protocol: str) -> bytes:
    """What came behind the answer to the first request."""
    key = base64.b64encode(os.urandom(16))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    link.sendall(_request(path, parts.netloc.rpartition("@")[2], key.decode(), protocol))
    held = b""
    while _HEAD_END not in held:
        found = link.recv(_READ)
        if not found or len(held) > _LARGEST_HEAD:
            raise WebSocketError("the answer is none of a websocket")
        held += found
    head, _, rest = held.partition(_HEAD_END)
    first, *lines = head.split(b"\r\n")
    accepted = base64.b64encode(hashlib.sha1(key + _JOINED, usedforsecurity=False).digest())
    if _UPGRADED not in first or _header(lines, b"sec-websocket-accept") != accepted:
        raise WebSocketError(f"the answer is `{first[:80].decode(errors='replace')}`")
    return rest


def _request(path: str, host: str, key: str, protocol: str) -> bytes:
    lines = (
        f"GET {path} HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
        f"Sec-WebSocket-Protocol: {protocol}",
        "User-Agent: fabric",
    )
    return "\r\n".join((*lines, "", "")).encode()


def _header(lines: Sequence[bytes], name: bytes) -> bytes:
    for line in lines:
        found, _, value = line.partition(b":")
        if found.strip().lower() == name:
            return value.strip()
    return b""
