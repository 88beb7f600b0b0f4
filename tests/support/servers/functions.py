"""A loopback server in the place of deployed functions: says back how it was called."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Functions(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        seen = {"method": self.command, "path": self.path, "body": body}
        self.send_response(418 if self.path.startswith("/fails") else 200)
        self.end_headers()
        self.wfile.write(json.dumps(seen).encode())

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the names of the library

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextlib.contextmanager
def functions_server() -> Iterator[str]:
    """Its address, for as long as this lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Functions)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
