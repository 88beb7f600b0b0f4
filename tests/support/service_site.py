"""A service at a provider, by its deployer alone: runs as tasks make them, without a graph.

One class for each provider stands on this: what is the same for all is written, and tested, once.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError
from fabric.providers.core.contract import CallContext, FunctionOrder, LiveFunction
from fabric.providers.core.retry import RetryPolicy
from fabric.testing.provider_site import (
    BYE,
    EVERY_HOUR,
    ProviderSite,
    SiteResponse,
    send_request,
)
from tests.support.orders import HTTP, trigger

__all__ = ["BYE", "EVERY_HOUR", "QUICK", "LostAnswer", "ServiceSite", "SiteAnswer", "asked"]

QUICK = RetryPolicy(base=0.001, cap=0.01, most=0.5)
SiteAnswer = SiteResponse
asked = send_request


class LostAnswer(Enum):
    """What becomes of a call: carried out and not answered, or answered by a half; or never
    there."""

    AFTER = "after"
    HALF = "half"
    BEFORE = "before"


class ServiceSite(ProviderSite):
    """`talk` is what the deployer tells on its way; one that `gives_up` never tries again: what a
    second run makes of a lost answer is to be seen."""

    def __init__(
        self, folder: Path, service: str = "shop", extension: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(folder, service, extension)
        self.talk: list[str] = []
        self.waiting = QUICK
        self.gives_up = False

    up = ProviderSite.deploy_service

    @abstractmethod
    def beside(self, service: str) -> "ServiceSite":
        """Another service at the same provider, in the same account."""

    def open_other(self, service: str) -> "ServiceSite":
        return self.beside(service)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The section of the provider in the config of a command line."""
        return {}

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """For a command line."""

    @abstractmethod
    def refuse_release(self) -> None:
        """The next release is refused half-way."""

    @abstractmethod
    def refuse_change(self, skip: int) -> None:
        """One call that changes something is refused, after `skip` such calls from now on."""

    def reject_change(self, skip: int) -> None:
        self.refuse_change(skip)

    def said(self, path: str = "/hello", method: str = "GET") -> str:
        """What a user is answered; the status where that is not 200."""
        return self.response(path, method)

    def request(self, method: str, path: str, **headers: str) -> SiteAnswer:
        return self.asked(method, path, **headers)

    def asked(self, method: str, path: str, **headers: str) -> SiteAnswer:
        return super().request(method, path, **headers)

    @abstractmethod
    def left(self) -> object:
        """All that this service could have left behind; nothing is false."""

    def list_resources(self) -> object:
        return self.left()

    def made(self) -> object:
        """What one and the same run leaves, however it came about."""
        return self.left()

    @abstractmethod
    def calls(self) -> int:
        """How many there were since the last reset."""

    @abstractmethod
    def changes(self) -> int:
        """How many calls have changed something since the last reset."""

    def count_changes(self) -> int:
        return self.changes()

    @abstractmethod
    def reset(self) -> None:
        """Forgets calls and faults; what was made stays."""

    def reset_calls(self) -> None:
        self.reset()

    @abstractmethod
    def lose(self, way: LostAnswer, skip: int) -> None:
        """One answer, after `skip` calls from now on."""

    @abstractmethod
    def has_lost(self) -> bool:
        """Whether there was a call that `lose` meant."""

    @abstractmethod
    def lose_version(self, live: LiveFunction) -> None:
        """Somebody deletes by hand what a rollback would go back to."""

    def full_orders(self) -> Iterable[FunctionOrder]:
        """With a trigger of each kind that there is."""
        clock = trigger("cron", schedule="rate(5 minutes)")
        return (self.order("hello", HTTP, *self.clock(clock)), self.order("bye"))

    def moved_orders(self) -> Iterable[FunctionOrder]:
        """Another code, another route, another clock, and one function that is gone."""
        clock = trigger("cron", schedule="0 12 * * 1-5")
        return (
            self.order("hello", HTTP.replace("hello", "greet"), *self.clock(clock), word="two"),
        )

    @property
    def watch(self) -> CallContext:
        return CallContext(self.talk.append)


def timed(order: FunctionOrder, seconds: int) -> FunctionOrder:
    """The same with another timeout."""
    mark = hash_fields((order.mark, str(seconds)))[:32]
    return replace(order, settings=(("timeout", str(seconds)),), mark=mark)


def problems_of(call: Callable[[], object]) -> list[str]:
    """The messages of what went wrong."""
    try:
        call()
    except FabricError as error:
        return [f"{one.code}: {one.message}" for one in error.problems]
    return []
