"""edge1's interface: calls with a token, answers as typed values, refusals by their own codes."""

from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.secret import Secret
from fabric.providers.edge1.rate import RateBudget
from fabric.providers.edge1.refusals import Edge1Fault, Edge1RefusedError
from fabric.providers.http_calls import ProviderCall, opened, sent, understood
from fabric.system.http_client import Http

T = TypeVar("T")


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
    errors: tuple[Edge1Fault, ...] | None = ()


class Edge1Api:
    """One account. Thread-safe."""

    def __init__(self, account: Edge1Account, http: Http | None = None) -> None:
        self.account = account
        self._http = http or opened("edge1-workers")
        self.rate = RateBudget()

    def close(self) -> None:
        self._http.close()

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """TransientError where nobody knows what became of it; RefusedCallError for a no."""
        reply = sent(self._http, self.account.base_url, self.account.token, call)
        self.rate.learn(reply.headers)
        envelope = understood(call, reply, _Envelope)
        if not (reply.ok and envelope.success):
            raise Edge1RefusedError(reply.status, envelope.errors or (), call.title)
        return understood(call, replace(reply, content=bytes(envelope.result)), kind)
