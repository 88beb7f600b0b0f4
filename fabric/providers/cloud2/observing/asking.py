"""Queries to the observability APIs of Google Cloud: pagination and timestamps."""

import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar
from urllib.parse import urlencode

from msgspec import Struct

from fabric.model.observed import SECOND
from fabric.providers.cloud2.client import Cloud2Api, Cloud2Call, build_cloud2_call
from fabric.providers.core.contract import CallContext
from fabric.providers.core.http_calls import retry_transient
from fabric.providers.core.retry import WAITING, RetryPolicy

T = TypeVar("T")


class Cloud2Asking(Struct, frozen=True):
    """Read-only queries: each can be repeated."""

    api: Cloud2Api
    project: str
    region: str
    watch: CallContext
    waiting: RetryPolicy = WAITING

    def ask(self, call: Cloud2Call, kind: type[T]) -> T:
        return retry_transient(
            lambda: self.api.once(call, kind), "Google Cloud", self.waiting, self.watch
        )


def list_page_rows(
    ask: Callable[[Mapping[str, str]], tuple[T, str]], words: Mapping[str, str]
) -> Iterator[T]:
    """Yield the rows of all pages. Each page contains the token of the next one."""
    token = ""
    while True:
        page, token = ask({**words, **({"pageToken": token} if token else {})})
        yield page
        if not token:
            return


def build_get_call(interface: str, path: str, words: Mapping[str, str]) -> Cloud2Call:
    return build_cloud2_call(interface, "GET", f"{path}?{urlencode(words)}")


def format_rfc3339(at: int) -> str:
    whole = datetime.datetime.fromtimestamp(at // SECOND, tz=datetime.UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{at % SECOND:09d}Z"
