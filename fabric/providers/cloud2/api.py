"""Client of the Google Cloud APIs for functions, Cloud Run and Cloud Scheduler, with one shared
token."""

import threading
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secret import Secret
from fabric.providers.cloud2.refusals import Cloud2Fault, Cloud2RefusedError
from fabric.providers.core.http_calls import (
    ProviderCall,
    decode_reply,
    open_provider_http,
    send_with_token,
)
from fabric.system.http_client import Http, HttpRequest
from fabric.system.retry import TransientError
from fabric.system.signed_tokens import Bearer

T = TypeVar("T")
FUNCTIONS, RUN, SCHEDULER = "cloudfunctions", "run", "cloudscheduler"
# More of them wait for each other there, and longer than anybody waits for one.
BUILDS_AT_ONCE = 10
_FORBIDDEN = 403
_ZIP = "application/zip"
# Somebody else's change came between, or is under way: whoever looks again may go on.
_PASSING = frozenset(("ABORTED", "ALREADY_EXISTS"))


class Login(Struct, frozen=True):
    """The caller's name for messages, and the token, which is possibly fetched on demand."""

    caller: str
    bearer: Callable[[Http], Bearer]


class _Refusal(Struct, frozen=True):
    error: Cloud2Fault = Cloud2Fault()


class Cloud2Api:
    """Thread-safe API client. If `base_url` is set, it replaces the hosts of all APIs."""

    def __init__(self, base_url: str, login: Login, http: Http | None = None) -> None:
        self.caller = login.caller
        self.builds = threading.BoundedSemaphore(BUILDS_AT_ONCE)
        self._base_url = base_url
        self._http = http or open_provider_http("cloud2-functions")
        self._bearer = login.bearer(self._http)

    def close(self) -> None:
        self._http.close()

    def once(self, interface: str, call: ProviderCall, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if a retry can help, otherwise a
        RefusedCallError."""
        url = self._base_url or f"https://{interface}.googleapis.com"
        reply = send_with_token(self._http, url, Secret(self._bearer.token()), call)
        if reply.ok:
            return decode_reply(call, reply, kind)
        fault = decode_reply(call, reply, _Refusal).error
        if fault.status in _PASSING:
            raise TransientError(f"`{call.title}` returned {fault.status}: {fault.message}")
        raise Cloud2RefusedError(reply.status, fault, call.title)

    def meets(self, url: str) -> bool:
        """Return whether a function can be called without a permission."""
        try:
            return self._http.send(HttpRequest("GET", url)).status != _FORBIDDEN
        except TransientError:
            return True

    def upload(self, url: str, content: bytes) -> None:
        """Upload to a signed URL without the token, which such a URL rejects."""
        request = HttpRequest("PUT", url, Secret({"Content-Type": _ZIP}), content)
        reply = self._http.send(request)
        if not reply.ok:
            words = f"the upload of the source returned {reply.status}"
            hint = "run the command again: each upload uses a new signed URL"
            raise FabricError(Problem("provider/refused", words, hint))
