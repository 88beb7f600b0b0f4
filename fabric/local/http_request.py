"""Parse bytes to one HTTP request, strictly, to prevent request smuggling."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct

LARGEST_HEAD = 64 * 1024
LARGEST_BODY = 10 * 1024 * 1024
_MOST_HEADERS = 200
_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP/1\.([01])")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?")
_LOOPBACK = re.compile(r"localhost|[A-Za-z0-9.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\]")

Headers = tuple[tuple[str, str], ...]


class BadRequestError(Exception):
    """An invalid request; later data on the connection cannot be interpreted."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class RequestHead(Struct, frozen=True):
    """A request head."""

    method: str
    target: str
    # Unchanged, with lowercase names.
    headers: Headers
    # The body size, -1 for a chunked body.
    size: int = 0
    keeps: bool = True
    expects: bool = False

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key == name)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


class ServedRequest(Struct, frozen=True):
    head: RequestHead
    body: bytes = b""


def take_head(buffer: bytearray, hosts: frozenset[str] = frozenset()) -> RequestHead | None:
    """Take a request head from the front of the buffer; None until it is complete. `hosts` are
    accepted in addition to this machine."""
    while buffer[:2] == b"\r\n":
        del buffer[:2]
    end = buffer.find(b"\r\n\r\n")
    if end > LARGEST_HEAD or (end < 0 and len(buffer) > LARGEST_HEAD):
        raise BadRequestError(431, "headers exceed 64 KB")
    if end < 0:
        if b"\n\n" in buffer:
            raise BadRequestError(400, "request lines must end with CR LF")
        return None
    lines = bytes(buffer[:end]).split(b"\r\n")
    del buffer[: end + 4]
    return _parse_head(lines, hosts)


def _parse_head(lines: Sequence[bytes], hosts: frozenset[str]) -> RequestHead:
    first = _LINE.fullmatch(lines[0])
    if first is None:
        raise BadRequestError(400, "invalid request line")
    if len(lines) > _MOST_HEADERS:
        raise BadRequestError(431, f"more than {_MOST_HEADERS} headers")
    headers = tuple(_parse_header(line) for line in lines[1:])
    names = [name for name, _ in headers]
    is_new = first[3] == b"1"
    found = dict(headers)
    target, host = _parse_target(first[2].decode("latin-1"), found.get("host", ""))
    if names.count("host") > 1 or (is_new and "host" not in found):
        raise BadRequestError(400, "exactly one Host header is required")
    if host and not is_loopback(host) and _name_of(host) not in hosts:
        raise BadRequestError(421, f"unknown host {host}: only names of this machine are served")
    connection = found.get("connection", "").lower()
    return RequestHead(
        first[1].decode(),
        target,
        headers,
        _parse_body_size(headers, is_new=is_new),
        keeps="close" not in connection if is_new else "keep-alive" in connection,
        expects=found.get("expect", "").lower() == "100-continue",
    )


def _parse_header(line: bytes) -> tuple[str, str]:
    found = _HEADER.fullmatch(line)
    if found is None:
        raise BadRequestError(400, "invalid header")
    return found[1].decode().lower(), found[2].rstrip(b" \t").decode("latin-1")


def _parse_target(target: str, host: str) -> tuple[str, str]:
    """Return the path with query, and the host: an absolute target contains the host itself."""
    if target.startswith("/") or target == "*":
        return target, host
    try:
        parts = urlsplit(target)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        raise BadRequestError(400, "the request target must be a path")
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), parts.netloc


def is_loopback(host: str) -> bool:
    """Return whether a Host header names this machine; a page from another site has another
    host."""
    return _LOOPBACK.fullmatch(_name_of(host)) is not None


def _name_of(host: str) -> str:
    """Return the host without its port."""
    return re.sub(r":\d*\Z", "", host).lower()


def _parse_body_size(headers: Headers, *, is_new: bool) -> int:
    sizes = {value for name, value in headers if name == "content-length"}
    coding = ", ".join(value for name, value in headers if name == "transfer-encoding").lower()
    if coding:
        if not is_new:
            # A proxy that speaks HTTP/1.0 passes it on unread: the body would be a next request.
            raise BadRequestError(400, "Transfer-Encoding requires HTTP/1.1")
        if sizes:
            raise BadRequestError(400, "Content-Length cannot be combined with Transfer-Encoding")
        if coding != "chunked":
            raise BadRequestError(501, "Transfer-Encoding must be `chunked`")
        return -1
    if not sizes:
        return 0
    size = next(iter(sizes))
    if len(sizes) > 1 or not (size.isascii() and size.isdecimal()):
        raise BadRequestError(400, "Content-Length must be one number")
    if len(size) > 9 or int(size) > LARGEST_BODY:  # noqa: PLR2004 - digits
        raise _body_too_large_error()
    return int(size)


def take_body(buffer: bytearray, size: int, chunks: bytearray) -> bytes | None:
    """Take a body from the front of the buffer; None until it is complete. `chunks` collects a
    chunked body."""
    if size < 0:
        return _take_chunks(buffer, chunks)
    if len(buffer) < size:
        return None
    body = bytes(buffer[:size])
    del buffer[:size]
    return body


def _take_chunks(buffer: bytearray, chunks: bytearray) -> bytes | None:
    while (end := buffer.find(b"\r\n")) >= 0:
        found = _CHUNK.fullmatch(bytes(buffer[:end]))
        if found is None:
            raise BadRequestError(400, "invalid chunk size")
        size = int(found[1], 16)
        if len(chunks) + size > LARGEST_BODY:
            raise _body_too_large_error()
        if size == 0:
            return _take_last_chunk(buffer, end, chunks)
        if len(buffer) < end + 2 + size + 2:
            return None
        if buffer[end + 2 + size : end + 4 + size] != b"\r\n":
            raise BadRequestError(400, "chunk exceeds its size")
        chunks += buffer[end + 2 : end + 2 + size]
        del buffer[: end + 4 + size]
    if len(buffer) > LARGEST_HEAD or _has_bare_lf(buffer):
        raise BadRequestError(400, "invalid chunk")
    return None


def _has_bare_lf(buffer: bytearray) -> bool:
    """Return whether a line ends only in LF; the parser would wait for it until the timeout."""
    return b"\n" in buffer.replace(b"\r\n", b"")


def _take_last_chunk(buffer: bytearray, end: int, chunks: bytearray) -> bytes | None:
    """Take the end of a chunked body and ignore trailers."""
    if buffer[end + 2 : end + 4] == b"\r\n":
        del buffer[: end + 4]
        return bytes(chunks)
    last = buffer.find(b"\r\n\r\n", end)
    if last < 0:
        if len(buffer) > LARGEST_HEAD:
            raise BadRequestError(431, "trailers exceed 64 KB")
        if _has_bare_lf(buffer):
            raise BadRequestError(400, "invalid trailer")
        return None
    del buffer[: last + 4]
    return bytes(chunks)


def _body_too_large_error() -> BadRequestError:
    return BadRequestError(413, "body exceeds 10 MB")
