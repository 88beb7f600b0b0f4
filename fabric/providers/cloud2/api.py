"""cloud2's interfaces: functions, what serves them, and clocks; one token for all of them."""

import threading
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secret import Secret
from fabric.providers.cloud2.refusals import Cloud2Fault, Cloud2RefusedError
from fabric.providers.http_calls import ProviderCall, opened, sent, understood
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
    """Who calls, for messages; and the token, which may have to be asked for."""

    caller: str
    bearer: Callable[[Http], Bearer]


class _Refusal(Struct, frozen=True):
    error: Cloud2Fault = Cloud2Fault()


class Cloud2Api:
    """Thread-safe. `base_url` stands for all interfaces where it is set, else each has its own
    host."""

    def __init__(self, base_url: str, login: Login, http: Http | None = None) -> None:
        self.caller = login.caller
        self.builds = threading.BoundedSemaphore(BUILDS_AT_ONCE)
        self._base_url = base_url
        self._http = http or opened("cloud2-functions")
        self._bearer = login.bearer(self._http)

    def close(self) -> None:
        self._http.close()

    def once(self, interface: str, call: ProviderCall, kind: type[T]) -> T:
        """TransientError where another look may help; RefusedCallError for a no."""
        url = self._base_url or f"https://{interface}.googleapis.com"
        reply = sent(self._http, url, Secret(self._bearer.token()), call)
        if reply.ok:
            return understood(call, reply, kind)
        fault = understood(call, reply, _Refusal).error
        if fault.status in _PASSING:
            raise TransientError(f"`{call.title}` returned {fault.status}: {fault.message}")
        raise Cloud2RefusedError(reply.status, fault, call.title)

    def meets(self, url: str) -> bool:
        """Whether somebody without a right of its own is let through to a function."""
        try:
            return self._http.send(HttpRequest("GET", url)).status != _FORBIDDEN
        except TransientError:
            return True

    def upload(self, url: str, content: bytes) -> None:
        """To an address that is signed: whoever sends a token besides is refused."""
        request = HttpRequest("PUT", url, Secret({"Content-Type": _ZIP}), content)
        reply = self._http.send(request)
        if not reply.ok:
            words = f"the upload of the source returned {reply.status}"
            hint = "run the command again: each upload uses a new signed URL"
            raise FabricError(Problem("provider/refused", words, hint))
