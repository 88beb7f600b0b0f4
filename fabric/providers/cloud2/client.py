"""Client of the Google Cloud APIs for functions, Cloud Run and Cloud Scheduler, with one shared
token."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.providers.core.errors import Quoted, RefusedCallError, format_generic_hint, refuse_plain
from fabric.providers.core.http_calls import (
    ProviderCall,
    decode_reply,
    open_provider_http,
    send_with_token,
)
from fabric.system.clock import Clock, SystemClock
from fabric.system.crypto.signed_tokens import (
    AccountKey,
    Bearer,
    IssuedToken,
    RequestedToken,
    StoredToken,
    build_token_request,
    parse_token,
    read_account_key,
)
from fabric.system.files.disk import read_bytes
from fabric.system.http.http_client import Http, HttpRequest
from fabric.system.retry import TransientError

T = TypeVar("T")
FUNCTIONS, RUN, SCHEDULER = "cloudfunctions", "run", "cloudscheduler"
EVENTARC, STORAGE = "eventarc", "storage"
# More of them wait for each other there, and longer than anybody waits for one.
BUILDS_AT_ONCE = 10
_FORBIDDEN = 403
_ZIP = "application/zip"
# Somebody else's change came between, or is under way: whoever looks again may go on.
_PASSING = frozenset(("ABORTED", "ALREADY_EXISTS"))


class Cloud2Call(ProviderCall, frozen=True):
    """A call of one of Google's APIs."""

    interface: str = FUNCTIONS


def build_cloud2_call(
    interface: str, method: str, path: str, document: object = None
) -> Cloud2Call:
    content = b"" if document is None else msgspec.json.encode(document)
    return Cloud2Call(method, path, content, interface=interface)


class Login(Struct, frozen=True):
    """The caller's name for messages, and the token, which is possibly fetched on demand."""

    caller: str
    bearer: Callable[[Http], Bearer]


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

    def once(self, call: Cloud2Call, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if a retry can help, otherwise a
        RefusedCallError."""
        url = self._base_url or f"https://{call.interface}.googleapis.com"
        reply = send_with_token(self._http, url, self.fetch_token(), call)
        if reply.ok:
            return decode_reply(call, reply, kind)
        fault = decode_reply(call, reply, _Refusal).error
        if fault.status in _PASSING:
            raise TransientError(f"`{call.title}` returned {fault.status}: {fault.message}")
        raise Cloud2RefusedError(reply.status, fault, call.title)

    def fetch_token(self) -> Secret[str]:
        return Secret(self._bearer.token())

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


TOKEN, KEY = "CLOUD2_ACCESS_TOKEN", "CLOUD2_SERVICE_ACCOUNT_KEY"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def choose_login(env: Mapping[str, str], folder: Path) -> Login:
    """Choose the access token if it is set, otherwise the key. A key is JSON or the path of a JSON
    file."""
    given = env.get(TOKEN, "")
    if given:
        return Login("a token", lambda _http: IssuedToken(Secret(given)))
    account = read_key_setting(env[KEY], folder)
    refuse_plain(f"token_uri` of `{KEY}", account.uri)
    return Login(account.email, lambda http: _build_token_holder(account, http, SystemClock()))


def read_key_setting(said: str, folder: Path) -> AccountKey:
    try:
        text = said if said.lstrip().startswith("{") else read_bytes(folder / said)
        return read_account_key(text)
    except OSError as error:
        message = f"cannot read the file in `{KEY}`: {error.strerror or error}"
        raise FabricError(Problem("credentials/unreadable", message)) from error
    except ValueError as error:
        message = f"`{KEY}` is not a valid service account key: {error}"
        hint = "set it to the JSON key of the service account, or to the path of the key file"
        raise FabricError(Problem("credentials/unreadable", message, hint)) from error


def _build_token_holder(account: AccountKey, http: Http, clock: Clock) -> StoredToken:
    def ask() -> RequestedToken:
        reply = http.send(build_token_request(account, _SCOPE, int(clock.now().timestamp())))
        try:
            if reply.ok:
                return parse_token(reply)
            said = f"it returned {reply.status}"
        except ValueError as error:
            said = str(error)
        message = f"`{account.uri}` returned no token for `{account.email}`: {said}"
        hint = (
            f"check that the key in `{KEY}` still exists and that the time of this "
            "machine is correct"
        )
        raise FabricError(Problem("credentials/refused", message, hint))

    return StoredToken(ask, clock)


_LOGIN, _RIGHTS = 401, 403
DISABLED = "SERVICE_DISABLED"
_POLICY = "permitted customer"


class FaultDetail(Struct, frozen=True):
    reason: str = ""


class Cloud2Fault(Struct, frozen=True):
    """An error."""

    code: int = 0
    message: str = ""
    # Its name.
    status: str = ""
    details: tuple[FaultDetail, ...] = ()

    @property
    def codes(self) -> frozenset[str]:
        return frozenset((self.status, *(one.reason for one in self.details))) - {""}


class _Refusal(Struct, frozen=True):
    error: Cloud2Fault = Cloud2Fault()


class Cloud2RefusedError(RefusedCallError):
    def __init__(self, status: int, fault: Cloud2Fault, call: str) -> None:
        words = " ".join(filter(None, (fault.status, fault.message)))
        super().__init__(status, words, call, fault.codes)


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {quoted(error.words)}"
    if error.status == _LOGIN:
        hint = (
            "check `CLOUD2_ACCESS_TOKEN`, which expires after one hour, or use "
            "`CLOUD2_SERVICE_ACCOUNT_KEY`"
        )
        return Problem("credentials/refused", words, hint)
    if DISABLED in error.codes:
        return Problem("provider/refused", words, "enable this API for the project")
    if error.status == _RIGHTS:
        hint = "check the project and the permissions listed in the Google Cloud Functions guide"
        return Problem("credentials/refused", words, hint)
    if _POLICY in error.words:
        hint = "ask your organization for an exception: its policy forbids public functions"
        return Problem("provider/refused", words, hint)
    return Problem("provider/refused", words, format_generic_hint("Google Cloud"))
