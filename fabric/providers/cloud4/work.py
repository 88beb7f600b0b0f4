"""The context of Alibaba Cloud calls."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.providers.cloud4.api import Cloud4Api, Cloud4Call
from fabric.providers.cloud4.refusals import classify_refusal
from fabric.providers.cloud4.settings import Cloud4Place, Cloud4Settings
from fabric.providers.core.contract import CallContext
from fabric.providers.core.errors import (
    Quoted,
    RefusedCallError,
    convert_refusals,
    ignore_missing,
)
from fabric.providers.core.http_calls import retry_transient
from fabric.providers.core.retry import WAITING, RetryPolicy

T = TypeVar("T")
_ONCE = RetryPolicy(most=0)
_PAGE = 100


class Cloud4Page(Protocol):
    """One page of a list, with the token of the next page; empty at the end."""

    @property
    def next_token(self) -> str: ...


P = TypeVar("P", bound=Cloud4Page)


class Cloud4Work(Struct, frozen=True):
    """The context of one call. `quoted` redacts messages of Alibaba Cloud; `place` comes from the
    environment."""

    api: Cloud4Api
    own: Cloud4Settings
    place: Cloud4Place
    watch: CallContext
    quoted: Quoted
    waiting: RetryPolicy = WAITING

    def ask(self, call: Cloud4Call, kind: type[T]) -> T:
        """Make an idempotent call, with retries."""
        return self.patient(lambda: self.api.once(call, kind))

    def look(self, call: Cloud4Call, kind: type[T]) -> T | None:
        """Fetch a resource, or return None if it does not exist."""
        try:
            return self.ask(call, kind)
        except RefusedCallError as error:
            if error.is_gone:
                return None
            raise

    def pages(self, action: str, parts: tuple[str, ...], kind: type[P]) -> Iterator[P]:
        """Yield the pages of a list; none if the resource does not exist."""
        token = ""
        while True:
            more = (("nextToken", token),) if token else ()
            call = Cloud4Call(action, "GET", parts, (("limit", str(_PAGE)), *more))
            page = self.look(call, kind)
            if page is None:
                return
            yield page
            token = page.next_token
            if not token:
                return

    def delete(self, action: str, *parts: str) -> None:
        """Delete a resource. A missing one is not an error."""
        with ignore_missing():
            self.ask(Cloud4Call(action, "DELETE", parts), object)

    def patient(self, act: Callable[[], T]) -> T:
        return retry_transient(act, "Alibaba Cloud", self.waiting, self.watch)

    def trying(self, act: Callable[["Cloud4Work"], T]) -> T:
        """Retry a change as a whole; `act` must look first."""
        return self.patient(lambda: act(replace(self, waiting=_ONCE)))

    def convert_errors(self, whose: str) -> AbstractContextManager[None]:
        """Convert errors inside to problems of this resource."""
        return convert_refusals(whose, self.quoted, classify_refusal)
