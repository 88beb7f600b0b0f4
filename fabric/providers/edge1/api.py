"""edge1's interface: calls with a token, answers as typed values, refusals by their own codes."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secret import Secret
from fabric.providers.contract import CallWatch
from fabric.providers.edge1.rate import RateBudget
from fabric.providers.edge1.refusals import ApiError, RefusedCallError
from fabric.providers.waiting import Waiting, nap
from fabric.system.http_client import Http, HttpReply, HttpRequest, open_http
from fabric.system.retry import Patience, TransientError

T = TypeVar("T")
# Who is asked to come back comes back then, and not before: a window of the rate is so long.
LONGEST_WISH = 300.0
_ONCE = Patience(tries=1)
_JSON = "application/json"
_SERVER_ERROR = 500
# Pauses of so many seconds are told.
_TOLD = 1.0


class Edge1Call(Struct, frozen=True):
    """`path` begins behind the address of the interface."""

    method: str
    path: str
    content: bytes = b""
    content_type: str = _JSON

    @property
    def title(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"


def sending(method: str, path: str, document: object) -> Edge1Call:
    return Edge1Call(method, path, msgspec.json.encode(document))


class Edge1Account(Struct, frozen=True):
    """Whose Workers, at which address. `zone` is empty where no route of a zone is wanted;
    `workers_url` is where Workers are met in place of workers.dev, with `{worker}` in it."""

    base_url: str
    token: Secret[str]
    account: str
    zone: str = ""
    workers_url: str = ""


class _Envelope(Struct, frozen=True):
    success: bool = False
    result: msgspec.Raw = msgspec.Raw(b"null")
    errors: tuple[ApiError, ...] | None = ()


class Edge1Api:
    """One account. Thread-safe; never follows a redirect, so the token goes nowhere else."""

    def __init__(self, account: Edge1Account, http: Http | None = None) -> None:
        self.account = account
        self._http = http or _opened()
        self.rate = RateBudget()

    def close(self) -> None:
        self._http.close()

    def once(self, call: Edge1Call, kind: type[T]) -> T:
        """TransientError where nobody knows what became of it; RefusedCallError for a no."""
        reply = self._http.send(
            HttpRequest(
                call.method,
                self.account.base_url.rstrip("/") + call.path,
                Secret(self._headers(call)),
                call.content,
            )
        )
        self.rate.learn(reply.headers)
        return _understood(call, reply, kind)

    def _headers(self, call: Edge1Call) -> Mapping[str, str]:
        token = {"Authorization": f"Bearer {self.account.token.reveal()}"}
        return {**token, "Content-Type": call.content_type} if call.content else token


def _opened() -> Http:
    try:
        return open_http(_ONCE)
    except ImportError as error:
        message = f"deploys to `edge1-workers` need a package that is not installed: {error.name}"
        hint = "pip install 'fabric-deploy[cloud]'"
        raise FabricError(Problem("deploy/not-installed", message, hint)) from error


def _understood(call: Edge1Call, reply: HttpReply, kind: type[T]) -> T:
    """An answer that breaks off says nothing of what was done."""
    try:
        envelope = msgspec.json.decode(reply.content, type=_Envelope)
        if reply.ok and envelope.success:
            return msgspec.json.decode(envelope.result, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if not reply.ok and reply.status < _SERVER_ERROR:
            words = f"it answered {reply.status}, and not as this interface does"
            raise RefusedCallError(reply.status, (ApiError(0, words),), call.title) from error
        raise TransientError(f"`{call.title}` was answered with what is no answer") from error
    raise RefusedCallError(reply.status, envelope.errors or (), call.title)


def patient(api: Edge1Api, act: Callable[[], T], waiting: Waiting, watch: CallWatch) -> T:
    """What `act` gives in the end. It is begun again after each try that nobody knows the end of:
    it has to look first for what would be made twice."""
    pauses = waiting.pauses()
    while True:
        nap(api.rate.pause(), waiting, watch)
        try:
            return act()
        except TransientError as error:
            pause = next(pauses, None)
            if pause is None:
                raise
            wish = min(error.after, LONGEST_WISH)
            if wish > pause:
                watch.hear(f"edge1 asks to be left alone for {wish:.0f} s")
            elif pause >= _TOLD:
                watch.hear(f"edge1: {error}; trying again")
            nap(max(pause, wish), waiting, watch)
