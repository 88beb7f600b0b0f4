"""Calls to a provider's interface by HTTP: how one is sent, read, and made again. Knows none."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import Struct

from fabric.model.distribution import Extra, PackageNeed
from fabric.model.secret import Secret
from fabric.providers.contract import CallWatch
from fabric.providers.refused_calls import RefusedCallError
from fabric.providers.waiting import Waiting, nap
from fabric.system.http_client import Http, HttpReply, HttpRequest, open_http
from fabric.system.optional_packages import requiring
from fabric.system.retry import Patience, TransientError

T = TypeVar("T")
# Who is asked to come back comes back then, and not before: windows of a rate are so long.
LONGEST_WISH = 300.0
# No provider answers with more: lists come in pages.
_MOST_BYTES = 64 << 20
_ONCE = Patience(tries=1)
_JSON = "application/json"
_SERVER_ERROR = 500
# Pauses of so many seconds are told.
_TOLD = 1.0


class ProviderCall(Struct, frozen=True):
    """`path` begins behind the address of the interface; `headers` are those of this call alone."""

    method: str
    path: str
    content: bytes = b""
    content_type: str = _JSON
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"


def sending(method: str, path: str, document: object) -> ProviderCall:
    return ProviderCall(method, path, msgspec.json.encode(document))


def opened(provider: str) -> Http:
    """Each call is made once: whoever makes it knows whether it may be made again."""
    with requiring(client_need(provider)):
        return open_http(_ONCE, _MOST_BYTES)


def client_need(provider: str) -> PackageNeed:
    """What calls a provider with the clients of the extra for clouds."""
    return PackageNeed(f"deploys to `{provider}` need", Extra.CLOUD, "deploy/not-installed")


def sent(http: Http, base_url: str, token: Secret[str], call: ProviderCall) -> HttpReply:
    """No redirect is ever followed, so the token goes nowhere else. TransientError where nobody
    knows what became of it."""
    return admitted(http, base_url, Secret(f"Bearer {token.reveal()}"), call)


def admitted(http: Http, base_url: str, login: Secret[str], call: ProviderCall) -> HttpReply:
    """The same with whatever an interface wants to see of who calls."""
    headers = {"Authorization": login.reveal()}
    if call.content:
        headers["Content-Type"] = call.content_type
    headers.update(call.headers)
    url = base_url.rstrip("/") + call.path
    return http.send(HttpRequest(call.method, url, Secret(headers), call.content))


def understood(call: ProviderCall, reply: HttpReply, kind: type[T]) -> T:
    """What an answer says. One that breaks off says nothing of what was done."""
    try:
        return msgspec.json.decode(reply.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if not reply.ok and reply.status < _SERVER_ERROR:
            words = f"unexpected response with status {reply.status}"
            raise RefusedCallError(reply.status, words, call.title) from error
        raise TransientError(f"invalid response to `{call.title}`") from error


def _at_once() -> float:
    return 0.0


def patient(
    act: Callable[[], T],
    provider: str,
    waiting: Waiting,
    watch: CallWatch,
    due: Callable[[], float] = _at_once,
) -> T:
    """What `act` gives in the end. It is begun again after each try that nobody knows the end of:
    it has to look first for what would be made twice. `due` says how long the provider's rate lets
    a call wait; the provider's name is for who watches."""
    pauses = waiting.pauses()
    while True:
        nap(due(), waiting, watch)
        try:
            return act()
        except TransientError as error:
            pause = next(pauses, None)
            if pause is None:
                raise
            wish = min(error.after, LONGEST_WISH)
            if wish > pause:
                watch.hear(f"{provider}: rate limit reached, waiting {wish:.0f} s")
            elif pause >= _TOLD:
                watch.hear(f"{provider}: {error}; retrying")
            nap(max(pause, wish), waiting, watch)
