"""Client of the Cloudflare API: calls with a token, typed responses and error codes."""

from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.secret import Secret
from fabric.providers.edge1.rate import RateBudget
from fabric.providers.edge1.refusals import Edge1Fault, Edge1RefusedError
from fabric.providers.http_calls import (
    ProviderCall,
    decode_reply,
    open_provider_http,
    send_with_token,
)
from fabric.system.http_client import Http

T = TypeVar("T")


class Edge1Account(Struct, frozen=True):
    """A Cloudflare account and its endpoint. `zone` is empty without a zone route.

    `workers_url` replaces workers.dev URLs, with a `{worker}` placeholder.
    """

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
    """Thread-safe client of one account."""

    def __init__(self, account: Edge1Account, http: Http | None = None) -> None:
        self.account = account
        self._http = http or open_provider_http("edge1-workers")
        self.rate = RateBudget()

    def close(self) -> None:
        self._http.close()

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if the outcome is unknown, otherwise a
        RefusedCallError."""
        reply = send_with_token(self._http, self.account.base_url, self.account.token, call)
        self.rate.learn(reply.headers)
        envelope = decode_reply(call, reply, _Envelope)
        if not (reply.ok and envelope.success):
            raise Edge1RefusedError(reply.status, envelope.errors or (), call.title)
        return decode_reply(call, replace(reply, content=bytes(envelope.result)), kind)
