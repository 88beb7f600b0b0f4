"""A receive-only WebSocket: complete messages as they arrive. wsproto parses the frames."""

import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from fabric.model.distribution import Extra, PackageNeed
from fabric.system.optional_packages import require_packages

if TYPE_CHECKING:
    from wsproto import WSConnection
    from wsproto.connection import Connection
    from wsproto.events import BytesMessage, Event, TextMessage

_READ = 1 << 16
_LARGEST = 16 << 20
_LARGEST_HEAD = 1 << 14
_NEED = PackageNeed("logs over a WebSocket require", Extra.CLOUD, "deploy/not-installed")


class WebSocketError(OSError):
    """The WebSocket could not be opened, or has ended."""


class WebSocket:
    """Never blocks: `fileno` is for `select`, which signals available data."""

    def __init__(self, link: socket.socket, frames: "WSConnection | Connection") -> None:
        link.settimeout(0)
        self._link = link
        self._frames = frames
        self._parts: list[bytes] = []
        self._ending: WebSocketError | None = None

    def fileno(self) -> int:
        return self._link.fileno()

    def receive(self) -> list[bytes]:
        """Return all complete messages that have arrived. Raises WebSocketError once none is left
        and the connection has ended, so no last message is lost."""
        messages = self._read_messages() if self._ending is None else []
        if not messages and self._ending is not None:
            raise self._ending
        return messages

    def ping(self) -> None:
        from wsproto.events import Ping

        self._send(Ping())

    def close(self) -> None:
        self._link.close()

    def _read_messages(self) -> list[bytes]:
        messages: list[bytes] = []
        try:
            # The frames that came with the answer to the handshake first.
            messages += self._take_finished()
            for content in self._receive_chunks():
                self._frames.receive_data(content)
                messages += self._take_finished()
        except WebSocketError as error:
            self._ending = error
        return messages

    def _receive_chunks(self) -> Iterator[bytes]:
        while True:
            try:
                found = self._link.recv(_READ)
            except (BlockingIOError, ssl.SSLWantReadError):
                return
            except OSError as error:
                raise WebSocketError(str(error)) from error
            if not found:
                raise WebSocketError("the connection was closed")
            yield found

    def _take_finished(self) -> list[bytes]:
        from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage

        finished: list[bytes] = []
        for event in self._frames.events():
            match event:
                case TextMessage() | BytesMessage():
                    finished += self._join_part(event)
                case Ping():
                    self._send(event.response())
                case CloseConnection():
                    self._ending = WebSocketError(event.reason or "the server closed it")
                case _:
                    continue
        return finished

    def _join_part(self, event: "TextMessage | BytesMessage") -> list[bytes]:
        """Return the message that this part completes; none if it continues."""
        data = event.data
        self._parts.append(data.encode() if isinstance(data, str) else bytes(data))
        if sum(map(len, self._parts)) > _LARGEST:
            raise WebSocketError("a message exceeds 16 MB")
        if not event.message_finished:
            return []
        whole = b"".join(self._parts)
        self._parts.clear()
        return [whole]

    def _send(self, event: "Event") -> None:
        """Send control frames, which are short: the system accepts all of it, unless the peer has
        closed."""
        try:
            self._link.send(self._frames.send(event))
        except OSError as error:
            raise WebSocketError(str(error)) from error


def open_websocket(url: str, protocol: str, seconds: float) -> WebSocket:
    parts = urlsplit(url)
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise WebSocketError("not a WebSocket URL")
    link = _connect(parts, seconds)
    try:
        return WebSocket(link, _upgrade_connection(link, parts, protocol))
    except OSError as error:
        link.close()
        raise WebSocketError(str(error)) from error


def _connect(parts: SplitResult, seconds: float) -> socket.socket:
    is_encrypted = parts.scheme == "wss"
    host = parts.hostname or ""
    try:
        link = socket.create_connection(
            (host, parts.port or (443 if is_encrypted else 80)), seconds
        )
        if not is_encrypted:
            return link
        return ssl.create_default_context().wrap_socket(link, server_hostname=host)
    except OSError as error:
        raise WebSocketError(f"{host}: {error}") from error


def _send_handshake(link: socket.socket, parts: SplitResult, protocol: str) -> "WSConnection":
    with require_packages(_NEED):
        from wsproto import ConnectionType, WSConnection
        from wsproto.events import Request

    frames = WSConnection(ConnectionType.CLIENT)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.netloc.rpartition("@")[2]
    agent = [(b"User-Agent", b"fabric")]
    link.sendall(frames.send(Request(host, path, subprotocols=[protocol], extra_headers=agent)))
    return frames


def _upgrade_connection(link: socket.socket, parts: SplitResult, protocol: str) -> "WSConnection":
    frames = _send_handshake(link, parts, protocol)
    from wsproto.events import AcceptConnection, RejectConnection
    from wsproto.utilities import RemoteProtocolError

    size = 0
    while True:
        found = link.recv(_READ)
        size += len(found)
        if not found or size > _LARGEST_HEAD:
            raise WebSocketError("the response is not a WebSocket handshake")
        try:
            frames.receive_data(found)
            first = next(frames.events(), None)
        except RemoteProtocolError as error:
            raise WebSocketError(f"the response is not a WebSocket handshake: {error}") from error
        match first:
            case AcceptConnection():
                return frames
            case RejectConnection():
                raise WebSocketError(f"the server returned status {first.status_code}")
            case _:
                continue
