"""The HTTP server: waitress with strict limits, in a separate thread."""

import contextlib
import errno
import socket
import threading
from collections.abc import Callable, Mapping

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from fabric.daemon.server.answers import GUARDS, busy_answer, encode_body, format_status_line
from fabric.daemon.server.channel import ServedChannel
from fabric.daemon.server.server_parts import PeerAddress, ServerLimits, ServerParts

_ACCEPTED_AT_ONCE = 64
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE)
_TURN = 0.5
_LOOK = 1.0
# Without a request for so long, one of many connections of one address makes room.
_SETTLED = 1.0
_BUFFER = 64 * 1024 * 1024
_WATERMARK = 1024 * 1024
_TOGETHER = 16 * 1024


class ApiServer(TcpWSGIServer):  # type: ignore[misc]
    """Connections belong to the I/O thread of `start`; answers are computed in other threads."""

    def __init__(self, listening: socket.socket, parts: ServerParts) -> None:
        self.parts = parts
        self._monotonic = parts.teller.monotonic
        self.sockets: dict[int, object] = {}
        self._is_over = False
        self._paused_until = self._next_look = 0.0
        self.turns = 0
        self._computing = _start_threads(parts.limits.computing_threads)
        super().__init__(
            parts.app,
            map=self.sockets,
            _sock=listening,
            dispatcher=_start_threads(parts.limits.threads),
            adj=_build_adjustments(parts.limits),
            sockinfo=(listening.family, listening.type, 0, listening.getsockname()),
            bind_socket=False,
        )
        self._thread = threading.Thread(target=self._run, name="fabric-http", daemon=True)

    @property
    def port(self) -> int:
        return int(self.effective_port)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def in_flight(self) -> int:
        """Return the number of connections with unfinished answers."""
        return sum(not one.is_waiting for one in tuple(self.active_channels.values()))

    def add_task(self, task: ServedChannel) -> None:
        dispatcher = self._computing if task.only_computes else self.task_dispatcher
        dispatcher.add_task(task)

    def stop_listening(self) -> None:
        """Accept no new connections. Existing ones are served."""
        self.trigger.pull_trigger(self._close_door)

    def _close_door(self) -> None:
        self.accepting = False
        self.del_channel()
        self.socket.close()

    def stop(self, seconds: float) -> None:
        """Stop, and cut off answers that are not finished by then."""
        self._is_over = True
        self.pull_trigger()
        self._thread.join()
        self._computing.shutdown(timeout=seconds)
        self.task_dispatcher.shutdown(timeout=seconds)
        wasyncore.close_all(self.sockets)

    def _run(self) -> None:
        while not self._is_over:
            self.turns += 1
            try:
                wasyncore.loop(timeout=_TURN, map=self.sockets, use_poll=True, count=1)
                self._look()
            except Exception as error:  # noqa: BLE001 - one connection ends no server
                self.parts.teller.write_failure("", error)

    def _look(self) -> None:
        now = self._monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK
        for channel in tuple(self.active_channels.values()):
            channel.look(now)

    def readable(self) -> bool:
        return bool(self.accepting) and self._monotonic() >= self._paused_until

    def handle_accept(self) -> None:
        """Accept all waiting connections, because each loop checks every connection."""
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                taken, address = self.socket.accept()
            except OSError as error:
                if error.errno in _NO_MORE_FILES:
                    self._make_room(1)
                    self._paused_until = self._monotonic() + 0.1
                return
            self._let_in(taken, address)

    def _let_in(self, taken: socket.socket, address: PeerAddress) -> None:
        limits = self.parts.limits
        if len(self.active_channels) >= limits.connections and not self._make_room(1):
            _turn_away(taken)
            return
        with contextlib.suppress(OSError):
            self.set_socket_options(taken)
            ServedChannel(self, taken, address)
        if not self.parts.shares_address(str(address[0])):
            self._close_idle_channels(str(address[0]))

    def _make_room(self, count: int) -> int:
        """Close the connections that have been idle for longest."""
        waiting = self._select_channels(lambda _: True)[:count]
        for one in waiting:
            one.drop()
        return len(waiting)

    def _close_idle_channels(self, address: str) -> None:
        own = self._select_channels(lambda one: one.addr[0] == address)
        settled = self._monotonic() - _SETTLED
        for one in own[: max(0, len(own) - self.parts.limits.waiting_of_one)]:
            if one.waits_since < settled:
                one.drop()

    def _select_channels(self, wanted: Callable[[ServedChannel], bool]) -> list[ServedChannel]:
        found = (one for one in self.active_channels.values() if one.is_waiting and wanted(one))
        return sorted(found, key=lambda one: one.waits_since)


def _start_threads(count: int) -> ThreadedTaskDispatcher:
    made = ThreadedTaskDispatcher()
    made.set_thread_count(count)
    return made


def _build_adjustments(limits: ServerLimits) -> Adjustments:
    made = Adjustments(
        threads=limits.threads,
        connection_limit=1_000_000,  # kept by `_let_in`, which makes room
        channel_timeout=86_400,  # kept by `look`
        cleanup_interval=86_400,
        channel_request_lookahead=0,
        max_request_header_size=limits.header_bytes,
        # Of chunks so much is read with what is between them; what they hold is counted.
        max_request_body_size=2 * limits.body_bytes + limits.header_bytes,
        recv_bytes=64 * 1024,
        backlog=1024,
        ident="",
        asyncore_use_poll=True,
        inbuf_overflow=_BUFFER,  # never a file: the root may be read-only
        outbuf_overflow=_BUFFER,
        outbuf_high_watermark=_WATERMARK,
        expose_tracebacks=False,
        clear_untrusted_proxy_headers=False,
        log_socket_errors=False,
    )
    # Head and body of a small answer go together.
    made.send_bytes = _TOGETHER
    return made


def _turn_away(taken: socket.socket) -> None:
    answer = busy_answer()
    body = encode_body(answer)
    headers: Mapping[str, str] = {
        **GUARDS,
        **answer.headers,
        "Content-Type": answer.content_type,
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [
        f"HTTP/1.1 {format_status_line(answer.status)}",
        *(f"{k}: {v}" for k, v in headers.items()),
    ]
    with taken, contextlib.suppress(OSError):
        taken.settimeout(0)
        taken.send("\r\n".join((*lines, "", "")).encode() + body)
