"""HTTP calls to provider APIs: send, decode and retry. Independent of any provider."""

from collections.abc import Callable
from typing import ClassVar, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from fabric.model.catalog import format_provider_title
from fabric.model.distribution import Extra, PackageNeed
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import CallContext
from fabric.providers.core.errors import RefusedCallError
from fabric.providers.core.retry import RetryPolicy, sleep_interruptibly
from fabric.system.http.http_client import Http, HttpReply, HttpRequest, open_http
from fabric.system.optional_packages import require_packages
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
    """One API call. `path` is relative to the base URL; `headers` are the extra headers of this
    call."""

    method: str
    path: str
    content: bytes = b""
    content_type: str = _JSON
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"


def build_json_call(method: str, path: str, document: object) -> ProviderCall:
    return ProviderCall(method, path, msgspec.json.encode(document))


def open_provider_http(provider: str) -> Http:
    """Open an HTTP client without retries: only the caller knows which calls are safe to repeat."""
    with require_packages(require_cloud_extra(provider)):
        return open_http(_ONCE, _MOST_BYTES)


def require_cloud_extra(provider: str) -> PackageNeed:
    """Return the package requirement of providers that use the clients of the cloud extra."""
    need = f"deploys to {format_provider_title(provider)} require"
    return PackageNeed(need, Extra.CLOUD, "deploy/not-installed")


def send_with_token(http: Http, base_url: str, token: Secret[str], call: ProviderCall) -> HttpReply:
    """Send a call with a bearer token.

    Redirects are never followed, so the token reaches no other host. Raises a TransientError if the
    outcome is unknown.
    """
    return send_with_login(http, base_url, Secret(f"Bearer {token.reveal()}"), call)


def send_with_login(http: Http, base_url: str, login: Secret[str], call: ProviderCall) -> HttpReply:
    """Send a call with any value of the `Authorization` header, otherwise like
    `send_with_token`."""
    headers = {"Authorization": login.reveal()}
    if call.content:
        headers["Content-Type"] = call.content_type
    headers.update(call.headers)
    url = base_url.rstrip("/") + call.path
    return http.send(HttpRequest(call.method, url, Secret(headers), call.content))


class TokenAccount(Protocol):
    """An account that a bearer token belongs to."""

    @property
    def base_url(self) -> str: ...
    @property
    def token(self) -> Secret[str]: ...


Account = TypeVar("Account", bound=TokenAccount)


class TokenApi(Generic[Account]):
    """A thread-safe client of one account."""

    provider: ClassVar[str]

    def __init__(self, account: Account, http: Http | None = None) -> None:
        self.account = account
        self._http = http or open_provider_http(self.provider)

    def close(self) -> None:
        self._http.close()

    def _send(self, call: ProviderCall) -> HttpReply:
        return send_with_token(self._http, self.account.base_url, self.account.token, call)


def decode_reply(call: ProviderCall, reply: HttpReply, kind: type[T]) -> T:
    """Decode a response. A truncated response leaves the outcome of the call unknown."""
    try:
        return msgspec.json.decode(reply.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if not reply.ok and reply.status < _SERVER_ERROR:
            words = f"unexpected response with status {reply.status}"
            raise RefusedCallError(reply.status, words, call.title) from error
        raise TransientError(f"invalid response to `{call.title}`") from error


def _no_delay() -> float:
    return 0.0


def retry_transient(
    act: Callable[[], T],
    provider: str,
    waiting: RetryPolicy,
    watch: CallContext,
    due: Callable[[], float] = _no_delay,
) -> T:
    """Run `act` until it succeeds or the waiting time is spent.

    After a try with an unknown outcome, `act` runs again, so it must first look for resources that
    it could duplicate. `due` returns the delay that the provider's rate limit requires. The
    provider's name appears in progress lines.
    """
    pauses = waiting.pauses()
    while True:
        sleep_interruptibly(due(), waiting, watch)
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
            sleep_interruptibly(max(pause, wish), waiting, watch)
