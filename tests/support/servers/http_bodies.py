"""What was sent with a request."""

from http.server import BaseHTTPRequestHandler


def whole_body(asked: BaseHTTPRequestHandler) -> bytes | None:
    """None where its sender has gone in the middle of it: nothing of that is carried out."""
    if asked.headers.get("Transfer-Encoding", "").lower() == "chunked":
        return _chunked(asked)
    size = int(asked.headers.get("Content-Length") or 0)
    body = asked.rfile.read(size)
    return body if len(body) == size else None


def _chunked(asked: BaseHTTPRequestHandler) -> bytes | None:
    chunks: list[bytes] = []
    while line := asked.rfile.readline().strip():
        size = int(line, 16)
        chunk = asked.rfile.read(size + 2)[:size]
        if not size:
            return b"".join(chunks)
        if len(chunk) < size:
            return None
        chunks.append(chunk)
    return None
