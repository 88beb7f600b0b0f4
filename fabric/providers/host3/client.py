"""Client of the Fly Machines API: paced calls with a token, and error messages."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import Problem
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import Judged, Quoted, RefusedCallError, format_generic_hint
from fabric.providers.core.http_calls import ProviderCall, TokenApi, decode_reply
from fabric.providers.core.whole_service import WholeOwner
from fabric.providers.core.work import ApiWork
from fabric.system.http.http_client import HttpReply

if TYPE_CHECKING:
    from fabric.system.registries.push import Registries

T = TypeVar("T")
OFFICIAL = "https://api.machines.dev/v1"
SITES = "https://{app}.fly.dev"
REGISTRY = "registry.fly.io"
# Calls of one action in a second, and the calls that can be made at once.
_BURST = 3
# One machine can be read more often.
_READS = 5
_LOGIN_STATUS = frozenset((401, 403))
_CAPACITY = "insufficient_capacity"


class Host3Settings(Struct, frozen=True, rename="camel"):
    """The settings of this provider's config section."""

    hostname: str = ""
    cpu_kind: str = "shared"
    cpus: int = 1
    autostop: str = "stop"
    min_machines: int = 0
    # The time in which the proxy sees a changed machine.
    settle_seconds: float = 10.0


class Host3Account(Struct, frozen=True, kw_only=True):
    """One app, with its endpoint and token."""

    base_url: str
    token: Secret[str]
    app: str
    # The organization in which fabric can create the app.
    org: str = ""
    image: str = ""
    # Where images are pushed.
    registry: str = REGISTRY
    # The form of the app's address.
    sites: str = SITES
    calls_per_second: float = 1.0

    @property
    def path(self) -> str:
        return f"/apps/{quote(self.app, safe='')}"

    @property
    def url(self) -> str:
        return self.sites.replace("{app}", self.app).rstrip("/")


class _Fault(Struct, frozen=True):
    """The body of a rejection."""

    error: str = ""
    message: str = ""
    status: object = ""


class ActionRates:
    """Thread-safe rates of the API: each action on a machine or an app has its own one."""

    def __init__(self, per_second: float, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._now = now
        self._guard = threading.Lock()
        # The moment at which all calls so far would have been made without a burst.
        self._due: dict[tuple[str, str], float] = {}

    def reserve(self, call: ProviderCall) -> float:
        """Return the delay before this call, in seconds."""
        path = call.path.partition("?")[0]
        is_read = call.method == "GET" and path.rpartition("/")[0].endswith("/machines")
        share = _READS if is_read else 1
        distance = 1 / (self._per_second * share)
        burst = 2 * _READS if is_read else _BURST
        with self._guard:
            now = self._now()
            due = max(self._due.get((call.method, path), now), now)
            self._due[call.method, path] = due + distance
            return max(0.0, due - (burst - 1) * distance - now)


class Host3Api(TokenApi[Host3Account]):
    provider: ClassVar[str] = "host3-machines"

    def __init__(self, account: Host3Account) -> None:
        super().__init__(account)
        self.rates = ActionRates(account.calls_per_second)

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if the outcome is unknown, otherwise a
        RefusedCallError."""
        reply = self._send(call)
        if reply.ok:
            return decode_reply(call, replace(reply, content=reply.content or b"null"), kind)
        fault = _read_fault(call, reply)
        words = fault.error or fault.message
        request = reply.headers.get("fly-request-id", "")
        shown = f"{words} (request {request})" if request else words
        raise RefusedCallError(reply.status, shown, call.title, frozenset((str(fault.status),)))


class _UnreadableRefusalError(RefusedCallError):
    """A rejection that does not come from the API: it does not prove that something is missing."""

    is_gone = False


def _read_fault(call: ProviderCall, reply: HttpReply) -> _Fault:
    try:
        return decode_reply(call, replace(reply, content=reply.content or b"{}"), _Fault)
    except RefusedCallError as error:
        raise _UnreadableRefusalError(error.status, error.words, error.call) from error


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {error.status} {quoted(error.words)}"
    if error.status in _LOGIN_STATUS:
        hint = "check `HOST3_API_TOKEN`, and that it can change the app `HOST3_APP_NAME`"
        return Problem("credentials/refused", words, hint)
    if _CAPACITY in error.codes:
        hint = "set another `region` below `extensions.host3-machines`, or try again later"
        return Problem("provider/refused", words, hint)
    return Problem("provider/refused", words, format_generic_hint("Fly"))


class Host3Work(ApiWork[Host3Api], frozen=True, kw_only=True):
    own: Host3Settings
    open_registries: "Callable[[], Registries]"
    title: str = "Fly"
    judged: Judged = classify_refusal

    def measure_call_pause(self, call: object) -> float:
        return self.api.rates.reserve(call) if isinstance(call, ProviderCall) else 0.0

    @property
    def app(self) -> str:
        return self.api.account.app

    def path(self, rest: str = "") -> str:
        return self.api.account.path + rest

    @property
    def owner(self) -> "ServiceOwner":
        return build_service_owner(self.scope.address)


class ServiceOwner(WholeOwner, frozen=True):
    """The owner of machines, which their metadata names."""

    @property
    def secret_prefix(self) -> str:
        """The beginning of the names of all secrets of the service."""
        return f"FABRIC_{self.digest[:8].upper()}_"

    def marker(self, resource: str) -> str:
        """The name of a secret without use, which shows that fabric creates this resource of the
        app: nothing else at Fly can."""
        return f"{self.secret_prefix}{resource}"


def build_service_owner(address: DeploymentAddress) -> ServiceOwner:
    return ServiceOwner(address.service, address.stage)
