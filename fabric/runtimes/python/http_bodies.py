"""Requests with bodies of a limited size.

Standard library only: it runs in a container without fabric.
"""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

_MOST = 32 * 1024 * 1024


class BodyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave together: in two packets the second would wait for an acknowledgement.
    wbufsize = 1 << 16

    def read_body(self) -> bytes | None:
        """Return the body, or None if it is too large."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            return _join_bounded(self._read_chunks())
        size = int(self.headers.get("content-length") or 0)
        return None if size > _MOST else self.rfile.read(size)

    def _read_chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def version_string(self) -> str:
        return "fabric"

    def log_message(self, *_words: object) -> None:
        """Log nothing: the log belongs to the handler, and the ingress logs requests."""


def _join_bounded(chunks: Iterator[bytes]) -> bytes | None:
    found = bytearray()
    for chunk in chunks:
        found += chunk
        if len(found) > _MOST:
            return None
    return bytes(found)
