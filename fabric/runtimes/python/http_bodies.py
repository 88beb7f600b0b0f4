"""Requests with bodies of a limited size.

Standard library only: it runs in a container without fabric.
"""

from http.server import BaseHTTPRequestHandler

_MOST = 32 * 1024 * 1024
_LINE = 64 * 1024


class BodyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave together: in two packets the second would wait for an acknowledgement.
    wbufsize = 1 << 16

    def read_body(self) -> bytes | None:
        """Return the body, or None if it is too large or has no valid size."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            return self._read_chunks()
        size = _parse_size(self.headers.get("content-length") or "0", 10)
        return None if size > _MOST else self.rfile.read(size)

    def _read_chunks(self) -> bytes | None:
        found = bytearray()
        while size := _parse_size(self.rfile.readline(_LINE).partition(b";")[0].decode(), 16):
            if len(found) + size > _MOST:
                return None
            found += self.rfile.read(size)
            self.rfile.readline(_LINE)
        while self.rfile.readline(_LINE).strip():
            pass
        return bytes(found)

    def version_string(self) -> str:
        return "fabric"

    def log_message(self, *_words: object) -> None:
        """Log nothing: the log belongs to the handler, and the ingress logs requests."""


def _parse_size(text: str, base: int) -> int:
    """Parse a size. An invalid size counts as too large, because the end is not known."""
    digits = text.strip()
    try:
        return int(digits, base) if digits.isalnum() else _MOST + 1
    except ValueError:
        return _MOST + 1
