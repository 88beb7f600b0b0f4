"""Services as pods meet them: each at a port of this machine, and on to one that is ready."""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

_MOST = 65536


@dataclass
class ServicePorts:
    """`find` is asked at each connection for the port of a pod: 0 where there is none."""

    find: Callable[[str], int]
    _servers: dict[str, socketserver.ThreadingTCPServer] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def port(self, service: str) -> int:
        with self._guard:
            if service not in self._servers:
                self._servers[service] = _listening(lambda: self.find(service))
            return int(self._servers[service].server_address[1])

    def close(self) -> None:
        for one in self._servers.values():
            one.shutdown()
            one.server_close()


def _listening(find: Callable[[], int]) -> socketserver.ThreadingTCPServer:
    class Tunnel(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            port = find()
            if not port:
                return
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as pod:
                back = threading.Thread(target=_pump, args=(pod, self.request), daemon=True)
                back.start()
                _pump(self.request, pod)
                back.join()

    class Listening(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 64

    server = Listening(("127.0.0.1", 0), Tunnel)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while content := source.recv(_MOST):
            sink.sendall(content)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
