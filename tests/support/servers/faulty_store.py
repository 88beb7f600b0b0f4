"""Plain PUT and GET in memory, with faults: for what changes or not, in reading or writing."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.servers.http_bodies import whole_body


class StoreFault(Enum):
    """A number is the status that is answered."""

    SILENT = "silent"
    TRICKLING_HEAD = "trickling head"
    TRICKLING_BODY = "trickling body"
    RESET = "reset"
    CUT = "cut"
    ENDLESS = "endless"
    ELSEWHERE = "elsewhere"
    PAGE = 200
    LOCKED = 401
    FORBIDDEN = 403
    TOO_LARGE = 413
    TOO_MANY = 429
    BROKEN = 500


@dataclass
class FaultyStore:
    """`faults` are by method and kind (`ac`, `cas`); `calls` are all that came in their turn."""

    address: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    faults: dict[tuple[str, str], StoreFault] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    # The PUT of this number waits, and says so: for who wants to be killed right there.
    held_put: int = 0
    held: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def fails(
        self, fault: StoreFault, *methods: str, kinds: tuple[str, ...] = ("ac", "cas")
    ) -> None:
        self.faults.update({(one, kind): fault for one in methods for kind in kinds})


@contextlib.contextmanager
def faulty_store() -> Iterator[FaultyStore]:
    store = FaultyStore()
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Storing", (StoringHandler,), {"store": store})
    )
    server.daemon_threads = True
    store.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield store
    finally:
        store.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


class StoringHandler(BaseHTTPRequestHandler):
    store: FaultyStore
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def _answer(self) -> None:
        kind = self.path.split("/")[-2]
        self.store.calls.append((self.command, kind))
        self.store.tokens.append(self.headers.get("Authorization", ""))
        body = whole_body(self) if self.command == "PUT" else None
        if self.command == "PUT" and self._is_held():
            return
        fault = self.store.faults.get((self.command, kind))
        with contextlib.suppress(OSError):
            if fault is not None:
                self._fail(fault)
            elif body is not None:
                self.store.objects[self.path] = body
                self._say(201)
            else:
                found = self.store.objects.get(self.path)
                self._say(404 if found is None else 200, found or b"")

    do_GET = do_PUT = _answer  # noqa: N815

    def _is_held(self) -> bool:
        puts = sum(method == "PUT" for method, _ in self.store.calls)
        if not self.store.held_put or puts < self.store.held_put:
            return False
        self.store.held.set()
        self.close_connection = True
        return self.store.over.wait()

    def _say(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def _fail(self, fault: StoreFault) -> None:
        self.close_connection = True
        match fault:
            case StoreFault.SILENT:
                self.store.over.wait()
            case StoreFault.TRICKLING_HEAD:
                self._trickle(b"HTTP/1.1 200 OK\r\nX-" + b"a" * 4096)
            case StoreFault.TRICKLING_BODY:
                self._trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n" + b"a" * 4096)
            case StoreFault.RESET:
                self._reset()
            case StoreFault.CUT:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\nFAB1")
            case StoreFault.ENDLESS:
                self._never_end()
            case StoreFault.ELSEWHERE:
                other = self.store.address.replace("127.0.0.1", "localhost")
                self._say(307, Location=f"{other}/other/cas/x", Connection="close")
            case _:
                # Said, so that no caller sends its next request into the closed connection.
                self._say(int(fault.value), b"a page that says why", Connection="close")

    def _trickle(self, content: bytes) -> None:
        for byte in content:
            if self.store.over.wait(0.2):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()

    def _never_end(self) -> None:
        """Two gigabytes and more, for as long as somebody takes them."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not self.store.over.is_set():
            self.wfile.write(b"10000\r\n" + b"x" * (1 << 16) + b"\r\n")

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()

    def log_message(self, *_: object) -> None:
        """Tests read the calls."""
