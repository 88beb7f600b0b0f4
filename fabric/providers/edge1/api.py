"""Client of the Cloudflare API: calls with a token, typed responses and error codes."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.secret import Secret
from fabric.providers.core.http_calls import (
    ProviderCall,
    decode_reply,
    open_provider_http,
    send_with_token,
)
from fabric.providers.edge1.refusals import Edge1Fault, Edge1RefusedError
from fabric.system.http_client import Http

T = TypeVar("T")
_LEFT = re.compile(r"\br=(\d+)\s*;\s*t=(\d+)")
_QUOTA = re.compile(r"\bq=(\d+)")
# From here on the calls that are left are spread over the time until there are new ones.
_SHORT = 10


class Edge1Account(Struct, frozen=True):
    """A Cloudflare account and its endpoint."""

    base_url: str
    token: Secret[str]
    account: str
    # Empty without a zone route.
    zone: str = ""
    # Replaces workers.dev URLs, with a `{worker}` placeholder.
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


# The rate limit of an account, as responses report it, and delays that respect it.


class RateBudget:
    """A thread-safe budget: each caller takes the next free moment."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._guard = threading.Lock()
        self._distance = 0.0
        self._next = 0.0

    def learn(self, headers: Mapping[str, str]) -> None:
        left = _LEFT.search(headers.get("ratelimit", ""))
        quota = _QUOTA.search(headers.get("ratelimit-policy", ""))
        if left is None or quota is None:
            return
        calls, seconds = int(left[1]), int(left[2])
        is_short = calls * _SHORT < int(quota[1])
        with self._guard:
            self._distance = seconds / max(calls, 1) if is_short else 0.0

    def pause(self) -> float:
        """Return the delay before the next call, in seconds."""
        with self._guard:
            now = self._now()
            begin = max(now, self._next)
            self._next = begin + self._distance
            return begin - now if self._distance else 0.0
