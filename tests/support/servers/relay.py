"""A relay before a server that keeps no count of its calls: it counts them, and loses answers."""

import contextlib
import http.client
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.support.service_site import LostAnswer

_PASSED_ON = ("content-type", "x-api-key", "accept")


@dataclass
class Relay:
    """`calls` are the methods in their turn. One answer may be lost: after so many others."""

    port: int = 0
    calls: list[str] = field(default_factory=list)
    way: LostAnswer | None = None
    skip: int = 0

    def reset(self) -> None:
        self.calls.clear()
        self.way = None

    def lose(self, way: LostAnswer, skip: int) -> None:
        self.way, self.skip = way, skip

    def planned(self) -> LostAnswer | None:
        """What becomes of the call that comes now."""
        if self.way is None:
            return None
        self.skip -= 1
        if self.skip >= 0:
            return None
        way, self.way = self.way, None
        return way


@contextlib.contextmanager
def relay_before(url: str) -> Iterator[Relay]:
    relay = Relay()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(relay, urlsplit(url).netloc))
    server.daemon_threads = True
    relay.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield relay
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(relay: Relay, target: str) -> type[BaseHTTPRequestHandler]:
    class Passing(BaseHTTPRequestHandler):
        def _pass(self) -> None:
            relay.calls.append(self.command)
            way = relay.planned()
            if way is LostAnswer.BEFORE:
                return
            status, content = self._carried_out()
            if way is LostAnswer.AFTER or (way is LostAnswer.HALF and not content):
                return
            content = content[: len(content) // 2] if way is LostAnswer.HALF else content
            # Who was killed while it was asking has nobody to be answered.
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_PATCH = _pass  # noqa: N815

        def _carried_out(self) -> tuple[int, bytes]:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {key: self.headers[key] for key in _PASSED_ON if key in self.headers}
            with contextlib.closing(http.client.HTTPConnection(target)) as connection:
                connection.request(self.command, self.path, body or None, headers)
                answer = connection.getresponse()
                return answer.status, answer.read()

        def log_message(self, *_: object) -> None:
            """Tests read the calls."""

    return Passing
