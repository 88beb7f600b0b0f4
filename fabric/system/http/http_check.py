"""Simple HTTP calls: health of an address, and responses of functions."""

import http.client
import time
import urllib.error
import urllib.request
from urllib.parse import quote

from msgspec import Struct

from fabric.model.late_values import require_known_values
from fabric.model.problems import FabricError, Problem

_SECONDS = 10.0
_TRIES = 3
_PAUSE = 1.0
_LONGEST = 64 * 1024
# More than any host lets a function answer.
_MOST_BYTES = 64 << 20
_LARGEST_FILE = 512 << 20
# Sent without a body, unless there is something to say.
_BODILESS = ("GET", "HEAD", "DELETE", "OPTIONS")


class HttpAnswer(Struct, frozen=True):
    status: int
    text: str
    ms: int


def find_unreachable_reason(url: str) -> str:
    """Return an empty text after a successful response, otherwise the reason. Tries a few times."""
    require_known_values("a health check", (url,))
    said = ""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        said = _check_url(url)
        if not said:
            break
    return said


def download(url: str) -> bytes:
    """Download a file; empty if that fails."""
    try:
        request = urllib.request.Request(_escape_url(url))  # noqa: S310 - the scheme is checked
        if not _is_web(url):
            return b""
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            return bytes(answer.read(_LARGEST_FILE))
    except (OSError, http.client.HTTPException, ValueError):
        return b""


def call_function(method: str, url: str, body: bytes, seconds: float) -> HttpAnswer:
    """Send a JSON document to a function. Any status counts as a response."""
    require_known_values("a call", (url,))
    begun = time.monotonic()
    if not _is_web(url):
        raise _unreachable_error(url, "it is not a valid URL")
    headers = {"Content-Type": "application/json"}
    content = body if body.strip() not in (b"", b"{}") or method not in _BODILESS else None
    try:
        request = urllib.request.Request(_escape_url(url), content, headers, method=method)  # noqa: S310 - the scheme is checked
        with urllib.request.urlopen(request, timeout=seconds) as answer:  # noqa: S310
            status, said = answer.status, answer.read(_MOST_BYTES)
    except urllib.error.HTTPError as error:
        with error:
            status, said = error.code, error.read(_MOST_BYTES)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _unreachable_error(url, str(getattr(error, "reason", error))) from error
    ms = round((time.monotonic() - begun) * 1000)
    return HttpAnswer(status, said.decode(errors="replace"), ms)


def _check_url(url: str) -> str:
    if not _is_web(url):
        return "is not a valid URL"
    try:
        with urllib.request.urlopen(_escape_url(url), timeout=_SECONDS):  # noqa: S310 - the scheme is checked
            return ""
    except urllib.error.HTTPError as error:
        error.close()
        return f"returned {error.code}"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return f"is unreachable ({getattr(error, 'reason', error)})"


def _escape_url(url: str) -> str:
    """Escape a URL for sending; existing escapes stay."""
    return quote(url, safe="%/:?#[]@!$&'()*+,;=~")


def _is_web(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def _unreachable_error(url: str, why: str) -> FabricError:
    return FabricError(Problem("provider/unreachable", f"{url} is unreachable: {why}"))


class _Staying(urllib.request.HTTPRedirectHandler):
    """Handler that reports redirects instead of following them."""

    def redirect_request(self, *_told: object) -> None:
        return None


def fetch_without_redirect(url: str, seconds: float) -> HttpAnswer:
    """Fetch this exact address: a redirect is a response like any other."""
    require_known_values("a call", (url,))
    begun = time.monotonic()
    opener = urllib.request.build_opener(_Staying)
    try:
        with opener.open(_escape_url(url), timeout=seconds) as answer:
            status, said = answer.status, answer.read(_LONGEST)
    except urllib.error.HTTPError as error:
        with error:
            status, said = error.code, error.read(_LONGEST)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _unreachable_error(url, str(getattr(error, "reason", error))) from error
    ms = round((time.monotonic() - begun) * 1000)
    return HttpAnswer(status, said.decode(errors="replace"), ms)
