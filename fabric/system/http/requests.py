"""Parse bytes to one HTTP request, strictly, to prevent request smuggling.

Requests that parsers could read differently are rejected.
"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MOST_HEADERS = 200
_LENGTH_DIGITS = 15
_CHUNK_LINE_BYTES = 1024
_TRAILER_BYTES = 16 * 1024
_LINE = re.compile(rb"(%s) ([!-\x22$-~]+) HTTP/(\d)\.(\d)" % _TOKEN)
_HEADER = re.compile(rb"(%s):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)" % _TOKEN)
_CHUNK = re.compile(rb'([0-9A-Fa-f]{1,8})(?:;%s(?:=(?:%s|"[ !#-\[\]-~]*"))?)*' % (_TOKEN, _TOKEN))
# The beginning of a chunk line.
_CHUNK_BEGUN = re.compile(rb"[0-9A-Fa-f]{1,8}(?:;[^\n\r]*)?\r?")
_VERSIONS = ((b"1", b"0"), (b"1", b"1"))
_ONCE = ("host", "content-length", "transfer-encoding")

Headers = tuple[tuple[str, str], ...]


class BadRequestError(Exception):
    """A rejected request; later data on the connection is not interpreted."""

    # Those of the request line, if it is valid.
    method = target = ""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class RequestHead(Struct, frozen=True, kw_only=True):
    """A request head."""

    method: str
    # The path with its query.
    target: str
    # Unchanged, with lowercase names.
    headers: Headers
    # The body size, -1 for a chunked body.
    size: int = 0
    keeps: bool = True
    expects: bool = False
    # Whether it is HTTP/1.1.
    is_new: bool = True

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


def take_head(buffer: bytearray, most_bytes: int) -> RequestHead | None:
    """Take a request head from the front of the buffer; None until it is complete."""
    while buffer[:2] == b"\r\n":
        del buffer[:2]
    end = buffer.find(b"\r\n\r\n")
    if end > most_bytes or (end < 0 and len(buffer) > most_bytes):
        raise BadRequestError(431, f"the headers are larger than {most_bytes:,} bytes")
    if _has_bare_lf(buffer[: end + 4] if end >= 0 else buffer):
        raise BadRequestError(400, "a header line ends without CR")
    if end < 0:
        return None
    lines = bytes(buffer[:end]).split(b"\r\n")
    del buffer[: end + 4]
    return _parse_head(lines)


def _has_bare_lf(buffer: bytearray) -> bool:
    """Return whether a line ends only in LF; the parser would wait for it until the timeout."""
    return buffer.count(b"\n") != buffer.count(b"\r\n")


def _parse_head(lines: Sequence[bytes]) -> RequestHead:
    first = _LINE.fullmatch(lines[0])
    if first is None:
        raise BadRequestError(400, "invalid request line")
    try:
        return _build_head(first, lines[1:])
    except BadRequestError as error:
        error.method, error.target = first[1].decode(), first[2].decode()
        raise


def _parse_headers(lines: Sequence[bytes]) -> Headers:
    if len(lines) > _MOST_HEADERS:
        raise BadRequestError(431, f"the request has more than {_MOST_HEADERS} headers")
    headers = tuple(_parse_header(line) for line in lines)
    names = [name for name, _ in headers]
    for name in _ONCE:
        if names.count(name) > 1:
            raise BadRequestError(400, f"duplicate header {name}")
    return headers


def _parse_header(line: bytes) -> tuple[str, str]:
    found = _HEADER.fullmatch(line)
    if found is None:
        raise BadRequestError(400, "invalid header")
    return found[1].decode().lower(), found[2].rstrip(b" \t").decode("latin-1")


def _build_head(first: re.Match[bytes], lines: Sequence[bytes]) -> RequestHead:
    method, version = first[1].decode(), (first[3], first[4])
    if version not in _VERSIONS:
        raise BadRequestError(505, "unsupported HTTP version: use HTTP/1.1 or HTTP/1.0")
    if method != method.upper():
        raise BadRequestError(400, "the method must be uppercase")
    headers, is_new = _parse_headers(lines), version == _VERSIONS[1]
    found = dict(headers)
    host = found.get("host", "")
    if is_new and not host:
        raise BadRequestError(400, "missing Host header")
    options = ",".join(value for name, value in headers if name == "connection").lower()
    connection = {one.strip() for one in options.split(",")}
    return RequestHead(
        method=method,
        target=_parse_target(first[2].decode(), host),
        headers=headers,
        size=_parse_body_size(found, is_new=is_new),
        keeps="close" not in connection if is_new else "keep-alive" in connection,
        expects=is_new and found.get("expect", "").lower() == "100-continue",
        is_new=is_new,
    )


def _parse_target(target: str, host: str) -> str:
    """Return the path with query; the host of an absolute target must be that of the header."""
    if target.startswith("/") or target == "*":
        return target
    try:
        parts = urlsplit(target)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        raise BadRequestError(400, "the request target must be a path")
    if parts.netloc.lower() != host.lower():
        raise BadRequestError(400, "the request target and Host differ")
    if not parts.path:
        raise BadRequestError(400, "the request target has no path")
    return "/" + target.split("/", 3)[3]


def _parse_body_size(found: dict[str, str], *, is_new: bool) -> int:
    coding, size = found.get("transfer-encoding"), found.get("content-length")
    if coding is not None:
        if not is_new:
            # A proxy that speaks HTTP/1.0 passes it on unread: the body would be a next request.
            raise BadRequestError(400, "Transfer-Encoding requires HTTP/1.1")
        if size is not None:
            raise BadRequestError(400, "both Content-Length and Transfer-Encoding")
        if "," in coding:
            raise BadRequestError(400, "more than one transfer encoding")
        if coding.lower() != "chunked":
            raise BadRequestError(501, "unsupported transfer encoding: only `chunked` is supported")
        return -1
    if size is None:
        return 0
    if not (size.isascii() and size.isdecimal() and len(size) <= _LENGTH_DIGITS):
        raise BadRequestError(400, "invalid Content-Length")
    return int(size)


class BodyReader:
    """Takes the body of one request from a buffer, in any pieces."""

    def __init__(self, size: int, most_bytes: int) -> None:
        self._size, self._most_bytes = size, most_bytes
        self._content = bytearray()
        self._is_at_trailers = False
        if size > most_bytes:
            raise self._too_large_error()

    def take(self, buffer: bytearray) -> bytes | None:
        """Take the body from the front of the buffer; None until it is complete."""
        if self._size < 0:
            while not self._is_at_trailers:
                if not self._take_chunk(buffer):
                    return None
            return bytes(self._content) if _take_trailers(buffer) else None
        if len(buffer) < self._size:
            return None
        body = bytes(buffer[: self._size])
        del buffer[: self._size]
        return body

    def _take_chunk(self, buffer: bytearray) -> bool:
        end = buffer.find(b"\r\n", 0, _CHUNK_LINE_BYTES)
        line = bytes(buffer[: end if end >= 0 else _CHUNK_LINE_BYTES])
        if end < 0 and len(line) < _CHUNK_LINE_BYTES:
            if line and not _CHUNK_BEGUN.fullmatch(line):
                raise BadRequestError(400, "invalid chunk size")
            return False
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise BadRequestError(400, "invalid chunk size")
        size = int(found[1], 16)
        if len(self._content) + size > self._most_bytes:
            raise self._too_large_error()
        if size == 0:
            self._is_at_trailers = True
            del buffer[: end + 2]
            return True
        return self._take_content(buffer, end + 2, size)

    def _take_content(self, buffer: bytearray, start: int, size: int) -> bool:
        end = start + size
        if not b"\r\n".startswith(buffer[end : end + 2]):
            raise BadRequestError(400, "a chunk is longer than its size")
        if len(buffer) < end + 2:
            return False
        self._content += buffer[start:end]
        del buffer[: end + 2]
        return True

    def _too_large_error(self) -> BadRequestError:
        return BadRequestError(413, f"the request body is larger than {self._most_bytes:,} bytes")


def _take_trailers(buffer: bytearray) -> bool:
    """Take the end of a chunked body. Trailers must be valid headers, and are ignored."""
    if buffer[:2] == b"\r\n":
        del buffer[:2]
        return True
    end = buffer.find(b"\r\n\r\n")
    section = buffer[: end + 4] if end >= 0 else buffer
    if len(section) > _TRAILER_BYTES:
        raise BadRequestError(431, f"the trailers are larger than {_TRAILER_BYTES:,} bytes")
    if _has_bare_lf(section):
        raise BadRequestError(400, "a trailer line ends without CR")
    if end < 0:
        return False
    _parse_headers(bytes(buffer[:end]).split(b"\r\n"))
    del buffer[: end + 4]
    return True
