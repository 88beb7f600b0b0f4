"""One connection: its pending data, times and end."""

import contextlib
import socket
from functools import partial
from typing import TYPE_CHECKING

from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer

from fabric.daemon.server.answers import timeout_answer
from fabric.daemon.server.parser import ParserRules, StrictParser
from fabric.daemon.server.tasks import ServedTask

if TYPE_CHECKING:
    from fabric.daemon.server.server_parts import PeerAddress, ServerParts


class ServedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection. `waits_since` is the start of the wait for a request, or for the rest of
    one."""

    task_class = error_task_class = ServedTask
    request: StrictParser | None = None
    will_close = False

    def __init__(self, server: TcpWSGIServer, taken: socket.socket, address: "PeerAddress") -> None:
        parts: ServerParts = server.parts
        self._limits = parts.limits
        peer, local = str(address[0]), _read_own_address(taken)
        rules = ParserRules(parts.admit, parts.new_id, peer, local, parts.limits.body_bytes)
        self.parser_class = partial(StrictParser, rules=rules)
        self._now = parts.teller.monotonic
        self._lingers_until: float | None = None
        self.waits_since = self._now()
        self._has_begun = self._is_served = False
        # When something was sent last, and since when nothing more goes out.
        self._sent_at = self._stands_since = 0.0
        super().__init__(server, taken, address, server.adj, map=server.sockets)

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is being done for it."""
        return not (self.requests or self.total_outbufs_len or self._is_served)

    @property
    def only_computes(self) -> bool:
        """Return whether the next answer needs no wait."""
        first: StrictParser = self.requests[0]
        return first.refused is not None or first.admission.only_computes

    def received(self, data: bytes) -> bool:
        if not self._has_begun:
            self._has_begun = True
            self.waits_since = self._now()
        taken = bool(super().received(data))
        if self.request is None:
            self._has_begun = False
        return taken

    def service(self) -> None:
        self._is_served = True
        try:
            super().service()
        finally:
            self.waits_since = self._now()
            self._is_served = False

    def flush_now(self) -> None:
        """Send what fits. The I/O thread sends the rest."""
        with self.outbuf_lock:
            self._flush_exception(self._flush_some, do_close=False)
            is_left = self.total_outbufs_len or self.will_close
        if is_left:
            self.server.pull_trigger()

    def look(self, now: float) -> None:
        """Close the connection if its time limit passed."""
        if self._lingers_until is not None:
            if now > self._lingers_until:
                self.handle_close()
        elif self.total_outbufs_len:
            self._look_at_reader(now)
        elif self.is_waiting and not (self.will_close or self.close_when_flushed):
            self._look_at_sender(now)

    def _look_at_reader(self, now: float) -> None:
        sent = self.last_activity
        if sent != self._sent_at:
            self._sent_at, self._stands_since = sent, now
        elif now - self._stands_since > self._limits.request_seconds:
            self.handle_close()

    def _look_at_sender(self, now: float) -> None:
        waited, limits = now - self.waits_since, self._limits
        if not self._has_begun:
            if waited > limits.idle_seconds:
                self.drop()
            return
        is_head = self.request is None or not self.request.headers_finished
        most = limits.header_seconds if is_head else limits.request_seconds
        if waited > most:
            self._give_up(most)

    def _give_up(self, seconds: float) -> None:
        with self.requests_lock:
            late = self.request
            if late is None or self.requests:
                return
            late.refuse(timeout_answer(seconds))
            self.request = None
            self.requests.append(late)
        self.server.add_task(self)

    def drop(self) -> None:
        """Close immediately without an answer."""
        super().handle_close()

    def readable(self) -> bool:
        return self._lingers_until is not None or bool(super().readable())

    def handle_read(self) -> None:
        if self._lingers_until is None:
            super().handle_read()
            return
        with contextlib.suppress(OSError):
            self.recv(self.adj.recv_bytes)  # an end of it closes the connection

    def handle_close(self) -> None:
        """Read briefly after the answer, because closing while the client sends would discard the
        answer."""
        if self.will_close and self.connected and self._lingers_until is None:
            self.will_close = False
            self._close_gently()
        else:
            super().handle_close()

    def _close_gently(self) -> None:
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            super().handle_close()
            return
        self._lingers_until = self._now() + self._limits.linger_seconds


def _read_own_address(taken: socket.socket) -> str:
    try:
        return str(taken.getsockname()[0])
    except OSError:
        return ""
