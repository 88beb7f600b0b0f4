"""The context of one call to a provider's API: its client, retries, and errors as problems."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, Protocol, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.providers.core.contract import CallContext, DeploymentAddress
from fabric.providers.core.errors import Judged, Quoted, RefusedCallError, convert_refusals
from fabric.providers.core.http_calls import retry_transient
from fabric.providers.core.retry import WAITING, RetryPolicy, sleep_interruptibly

T = TypeVar("T")
Call_contra = TypeVar("Call_contra", contravariant=True)
Api_co = TypeVar("Api_co", covariant=True)
_ONCE = RetryPolicy(most=0)


class ApiClient(Protocol[Call_contra]):
    def once(self, call: Call_contra, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if a retry can help, otherwise a
        RefusedCallError."""


class CallScope(Struct, frozen=True):
    """One call of a deployer. The watch receives only redacted messages."""

    address: DeploymentAddress
    watch: CallContext
    # Redacts provider messages.
    quoted: Quoted
    waiting: RetryPolicy = WAITING


class ApiWork(Struct, Generic[Api_co], frozen=True, kw_only=True):
    """The context of one call at an API. `title` is the provider's display name, and `judged`
    converts its rejections to problems."""

    api: Api_co
    scope: CallScope
    title: str
    judged: Judged

    @property
    def watch(self) -> CallContext:
        return self.scope.watch

    @property
    def quoted(self) -> Quoted:
        return self.scope.quoted

    @property
    def waiting(self) -> RetryPolicy:
        return self.scope.waiting

    def patient(self, act: Callable[[], T]) -> T:
        return retry_transient(act, self.title, self.waiting, self.watch, self.measure_pause)

    def measure_pause(self) -> float:
        """Return the delay that the provider's rate limit requires, in seconds."""
        return 0.0

    def ask(self: "ApiWork[ApiClient[Call_contra]]", call: Call_contra, kind: type[T]) -> T:
        """Make an idempotent call, with retries."""
        return self.patient(lambda: self.send(call, kind))

    def send(self: "ApiWork[ApiClient[Call_contra]]", call: Call_contra, kind: type[T]) -> T:
        """Make a call once, after the delay that the rate limit of its action requires."""
        sleep_interruptibly(self.measure_call_pause(call), self.waiting, self.watch)
        return self.api.once(call, kind)

    def measure_call_pause(self, call: object) -> float:  # noqa: ARG002 - of most providers
        """Return the delay that the provider's rate limit of this action requires, in seconds."""
        return 0.0

    def look(self: "ApiWork[ApiClient[Call_contra]]", call: Call_contra, kind: type[T]) -> T | None:
        """Fetch a resource, or return None if it does not exist."""
        return self.patient(lambda: self.look_once(call, kind))

    def look_once(
        self: "ApiWork[ApiClient[Call_contra]]", call: Call_contra, kind: type[T]
    ) -> T | None:
        """Fetch a resource like `look`, without retries."""
        try:
            return self.send(call, kind)
        except RefusedCallError as error:
            if error.is_gone:
                return None
            raise

    def trying(self, act: Callable[[Self], T]) -> T:
        """Retry a change as a whole; `act` must look first.

        Its argument makes calls without retries, so that the total waiting time stays bounded.
        """
        return self.patient(lambda: act(replace(self, scope=replace(self.scope, waiting=_ONCE))))

    def convert_errors(self, whose: str) -> AbstractContextManager[None]:
        """Convert errors inside to problems of this resource."""
        return convert_refusals(whose, self.quoted, self.judged)
