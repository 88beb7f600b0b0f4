"""The context of OpenWhisk calls."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.providers.core.contract import CallContext
from fabric.providers.core.errors import Judged, Quoted, RefusedCallError, convert_refusals
from fabric.providers.core.http_calls import ProviderCall, retry_transient
from fabric.providers.core.retry import WAITING, RetryPolicy
from fabric.providers.whisk.api import WhiskApi
from fabric.providers.whisk.refusals import CONFLICT
from fabric.providers.whisk.resource_names import WhiskPlace
from fabric.system.retry import TransientError

T = TypeVar("T")
ONCE = RetryPolicy(most=0)


class WhiskTitles(Struct, frozen=True):
    """The names of a provider: its id and its display name."""

    id: str
    name: str


class WhiskWork(Struct, frozen=True):
    """The context of one call. `quoted` redacts provider messages, and `judged` converts rejections
    to problems."""

    api: WhiskApi
    place: WhiskPlace
    titles: WhiskTitles
    watch: CallContext
    quoted: Quoted
    judged: Judged
    waiting: RetryPolicy = WAITING

    def ask(self, call: ProviderCall, kind: type[T]) -> T:
        """Make an idempotent call, with retries."""
        return self.patient(lambda: self.api.once(call, kind))

    def look(self, path: str, kind: type[T]) -> T | None:
        """Fetch a resource, or return None if it does not exist."""
        try:
            return self.ask(ProviderCall("GET", path), kind)
        except RefusedCallError as error:
            if error.is_gone:
                return None
            raise

    def change(self, call: ProviderCall) -> None:
        """Make a change. Raises a TransientError on a conflict, so that the caller looks again."""
        try:
            self.api.once(call, object)
        except RefusedCallError as error:
            if error.status == CONFLICT:
                raise TransientError(f"conflict: another process changed `{call.title}`") from error
            raise

    def patient(self, act: Callable[[], T]) -> T:
        return retry_transient(act, self.titles.name, self.waiting, self.watch)

    def trying(self, act: Callable[["WhiskWork"], T]) -> T:
        """Retry a change as a whole; `act` must look first."""
        return self.patient(lambda: act(replace(self, waiting=ONCE)))

    def convert_errors(self, whose: str) -> AbstractContextManager[None]:
        """Convert errors inside to problems of this resource."""
        return convert_refusals(whose, self.quoted, self.judged)
