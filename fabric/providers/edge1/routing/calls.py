"""Calls about one hostname at Cloudflare: lists, retries, and problems that name missing
permissions."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec.structs import replace

from fabric.model.problems import Problem
from fabric.providers.core.contract import NO_CONTEXT
from fabric.providers.core.errors import Quoted, RefusedCallError, convert_refusals
from fabric.providers.core.http_calls import ProviderCall, retry_transient
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.retry import WAITING
from fabric.providers.edge1.client import Edge1Api, classify_refusal

T = TypeVar("T")
DNS_RECORDS = "/zones/{zone}/dns_records"


class NameCalls:
    """Calls for one hostname. `hide` holds values that no message can show; `rights` describes the
    required permissions."""

    def __init__(self, api: Edge1Api, hide: Redaction, rights: str) -> None:
        self._api = api
        self._hide = hide
        self._rights = rights

    def fetch_list(self, path: str, kind: type[T]) -> T:
        call = ProviderCall("GET", self.path(path))
        return self.patient(lambda: self.once(call, kind))

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        return self._api.once(call, kind)

    def patient(self, act: Callable[[], T]) -> T:
        return retry_transient(act, "Cloudflare", WAITING, NO_CONTEXT, self._api.rate.pause)

    def path(self, path: str) -> str:
        account = self._api.account
        return path.format(account=account.account, zone=account.zone)

    @contextlib.contextmanager
    def convert_errors(self, hostname: str) -> Iterator[None]:
        with convert_refusals(
            f"the hostname `{hostname}` at Cloudflare", self._hide.quote, self._classify_refusal
        ):
            yield

    def _classify_refusal(self, whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
        problem = classify_refusal(whose, error, quoted)
        if "EDGE1_API_TOKEN" not in problem.hint:
            return problem
        return replace(
            problem, hint=f"check `EDGE1_API_TOKEN` and its permission to {self._rights}"
        )
