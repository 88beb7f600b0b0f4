"""HTTP answers as values and as bytes."""

import http
import json

from msgspec import Struct

from fabric.model.outcomes.json_struct import Json
from fabric.system.http.requests import Headers

_WITHOUT_BODY = (204, 304)


class ServedAnswer(Struct, frozen=True):
    status: int
    # A `content-length` is that of the answer to GET: only an answer to HEAD contains one.
    headers: Headers = ()
    body: bytes = b""

    def as_bytes(self, *, keeps: bool, with_body: bool = True) -> bytes:
        has_body = self.status not in _WITHOUT_BODY
        # The answer to HEAD can have the header already. The size of a stream is unknown.
        is_sized = has_body and (
            with_body
            or (
                bool(self.body)
                and all(name.lower() != "content-length" for name, _ in self.headers)
            )
        )
        framing = (f"content-length: {len(self.body)}",) if is_sized else ()
        head = self.encode_head(*framing, f"connection: {'keep-alive' if keeps else 'close'}")
        return head + self.body if has_body and with_body else head

    def encode_head(self, *more: str) -> bytes:
        """Encode the head, with further header lines."""
        lines = (
            f"HTTP/1.1 {self.status} {find_reason(self.status)}",
            *(f"{name}: {value}" for name, value in self.headers),
            *more,
        )
        return b"\r\n".join(map(_encode_header, lines)) + b"\r\n\r\n"


def _encode_header(line: str) -> bytes:
    """Encode a header line as Latin-1, other characters as UTF-8, which most clients use."""
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode(errors="replace")


def find_reason(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


def build_json_answer(status: int, document: Json, headers: Headers = ()) -> ServedAnswer:
    body = json.dumps(document, ensure_ascii=False).encode(errors="surrogatepass")
    return ServedAnswer(status, (("content-type", "application/json"), *headers), body)
