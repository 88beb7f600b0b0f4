"""HTTP calls with timeouts and retries. Independent of any service."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from fabric.model.secrets.secret import Secret
from fabric.system.retry import Patience, TransientError, retry

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_GOOD, _OTHER = 200, 300
_CHUNK = 1 << 16
# The largest answer that a server may send: an archive of a function, and room to spare.
MOST_BYTES = 512 << 20
# A compressed answer of a kilobyte can inflate to gigabytes: no coding is accepted.
PLAIN: Mapping[str, str] = {"Accept-Encoding": "identity"}
# Some services say "slow down" with a status that otherwise means "never". Only as a whole word of
# JSON or XML: a body may also quote a path that somebody named so.
_THROTTLED = re.compile(
    rb"""[">](?:Throttl(?:ing|ed)(?:Exception)?|TooManyRequests(?:Exception)?|RequestLimitExceeded"""
    rb"""|(?:user)?[rR]ateLimitExceeded|SlowDown|ServerBusy)["<]"""
)
_NAMES_END = 4096

NO_HEADERS: Secret[Mapping[str, str]] = Secret({})


class HttpRequest(Struct, frozen=True):
    """A request."""

    method: str
    url: str
    headers: Secret[Mapping[str, str]] = NO_HEADERS
    content: bytes = b""
    # The read timeout, if longer than usual.
    seconds: float = 0.0


class HttpReply(Struct, frozen=True):
    """A response."""

    status: int
    # Have lowercase names.
    headers: Mapping[str, str]
    content: bytes = b""

    @property
    def ok(self) -> bool:
        return _GOOD <= self.status < _OTHER


class UnreadableAnswerError(Exception):
    """A response that exceeds the size limit, or has an unrequested compression."""


def read_capped_content(answer: "httpx.Response", most_bytes: int) -> bytes:
    """Read the raw body and count its bytes: a declared length can be wrong."""
    coding = answer.headers.get("content-encoding", "identity")
    if coding.strip().lower() not in ("", "identity"):
        raise UnreadableAnswerError("its response is compressed, which was not requested")
    content = bytearray()
    for chunk in answer.iter_raw(_CHUNK):
        content += chunk
        if len(content) > most_bytes:
            raise UnreadableAnswerError(f"its response exceeds {most_bytes:,} bytes")
    return bytes(content)


class Http:
    """An HTTP client. A response of more than `most_bytes` is an error, and the rest is not
    read."""

    def __init__(
        self, client: "httpx.Client", patience: Patience, most_bytes: int = MOST_BYTES
    ) -> None:
        self._client = client
        self._patience = patience
        self._most_bytes = most_bytes

    def send(self, request: HttpRequest) -> HttpReply:
        """Return the first response that a retry would not change, otherwise raise
        TransientError."""
        return retry(lambda: self._send_once(request), self._patience)

    def download(self, request: HttpRequest, write: Callable[[bytes], object]) -> HttpReply:
        """Pass a successful response to `write` piece by piece, without a retry. The body of any
        other response is returned."""
        import httpx

        headers = dict(request.headers.reveal())
        try:
            with self._client.stream(request.method, request.url, headers=headers) as answer:
                content = b""
                if answer.is_success:
                    for chunk in answer.iter_raw(_CHUNK):
                        write(chunk)
                else:
                    content = read_capped_content(answer, self._most_bytes)
        except (httpx.RequestError, UnreadableAnswerError) as error:
            raise TransientError(str(error) or type(error).__name__) from error
        return _check_transient(_build_reply(answer, content))

    def close(self) -> None:
        self._client.close()

    def _send_once(self, request: HttpRequest) -> HttpReply:
        import httpx

        try:
            with self._client.stream(
                request.method,
                request.url,
                headers=dict(request.headers.reveal()),
                content=request.content or None,
                timeout=_build_timeouts(request.seconds or READ_SECONDS),
            ) as answer:
                content = read_capped_content(answer, self._most_bytes)
        except (httpx.RequestError, UnreadableAnswerError) as error:
            raise TransientError(str(error) or type(error).__name__) from error
        return _check_transient(_build_reply(answer, content))


def _build_reply(answer: "httpx.Response", content: bytes) -> HttpReply:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return HttpReply(answer.status_code, headers, content)


def _check_transient(reply: HttpReply) -> HttpReply:
    if _is_transient(reply):
        raise TransientError(f"it returned status {reply.status}", _read_retry_after(reply))
    return reply


def open_http(patience: Patience, most_bytes: int = MOST_BYTES) -> Http:
    import httpx

    client = httpx.Client(timeout=_build_timeouts(READ_SECONDS), headers=PLAIN)
    return Http(client, patience, most_bytes)


def _build_timeouts(seconds: float) -> "httpx.Timeout":
    import httpx

    return httpx.Timeout(seconds, connect=CONNECT_SECONDS)


def _is_transient(reply: HttpReply) -> bool:
    if reply.ok:
        return False
    return reply.status in _TRANSIENT or bool(_THROTTLED.search(reply.content[:_NAMES_END]))


def _read_retry_after(reply: HttpReply) -> float:
    """Return `Retry-After` in seconds; the date form is ignored, because it depends on clocks."""
    text = reply.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else 0.0
