"""A namespace of OpenWhisk by its own interface: an action for each version of a function, and one
that users meet."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.model.task import Pairs
from fabric.providers.contract import (
    UNWATCHED,
    CallWatch,
    Deployed,
    DeploymentAddress,
    FunctionAnswer,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Released,
    Unfit,
)
from fabric.providers.redaction import Redaction
from fabric.providers.refused_calls import Judged, quoting, told
from fabric.providers.waiting import WAITING, Waiting
from fabric.providers.whisk.actions import made, made_under, met
from fabric.providers.whisk.api import WhiskApi
from fabric.providers.whisk.calling import invoked
from fabric.providers.whisk.clocks import Clocks
from fabric.providers.whisk.kept import other_place
from fabric.providers.whisk.looking import identity, lost
from fabric.providers.whisk.own_names import WhiskPlace
from fabric.providers.whisk.releasing import released
from fabric.providers.whisk.removing import dissolved, removed
from fabric.providers.whisk.unfit import WhiskLimits, unfit_drafts
from fabric.providers.whisk.work import WhiskTitles, WhiskWork

_HURRIED = 3.0


class WhiskProvider(Struct, frozen=True):
    """What is a provider's own. `connect` gives the interface."""

    titles: WhiskTitles
    limits: WhiskLimits
    judged: Judged
    connect: Callable[[], WhiskApi]
    clocks: Clocks


class WhiskFunctions(Struct, frozen=True):
    """`hide` are values that no message may show, `place` is what the environment names."""

    provider: WhiskProvider
    hide: Redaction
    place: WhiskPlace
    waiting: Waiting = WAITING

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    def _work(
        self,
        address: DeploymentAddress,
        watch: CallWatch = UNWATCHED,
        hide: Redaction | None = None,
    ) -> WhiskWork:
        """What it says on the way quotes others as errors do. Raises for a record of another
        place."""
        said = other_place(address.previous, self.place) if address.previous else None
        if said is not None:
            raise FabricError(said)
        quoted = (hide or self.hide).quoted
        one = self.provider
        heard = quoting(watch, quoted)
        return WhiskWork(
            one.connect(), self.place, one.titles, heard, quoted, one.judged, self.waiting
        )

    def prepare(self, address: DeploymentAddress) -> None:  # noqa: ARG002 - one login for all
        self.provider.connect()

    def elsewhere(self, record: Record) -> Problem | None:
        return other_place(record, self.place)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        return tuple(unfit_drafts(address, functions, self.provider.limits))

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallWatch = UNWATCHED,
    ) -> Deployed:
        return Deployed(tuple(self._deployed(address, order, watch) for order in functions))

    def _deployed(
        self, address: DeploymentAddress, order: FunctionOrder, watch: CallWatch
    ) -> LiveFunction:
        with self._told(f"function `{order.name}`", [order]) as hide:
            limits = self.provider.limits
            runtime = limits.runtimes.require(order, limits.name)
            return made(self._work(address, watch, hide), address, order, runtime)

    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,  # noqa: ARG002 - deploys of single functions give nothing besides
        watch: CallWatch = UNWATCHED,
    ) -> Released:
        with self._told(f"`{address.service}`"):
            return released(self._work(address, watch), address, functions, self.provider.clocks)

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            removed(self._work(address, watch), address, functions, self.provider.clocks)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - what is there says whose it is
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            dissolved(self._work(address, watch), address, self.provider.clocks)

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        with self._told(f"function `{function}`"):
            work = self._work(address)
            if mark:
                return made_under(work, address, function, mark)
            return met(work, address, function)

    def kept_version(self, address: DeploymentAddress, function: str, mark: str) -> str:
        found = self.find(address, function, mark)
        return found.resource_id if found else ""

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        with self._told(f"function `{function.name}`"):
            return invoked(self._work(address), function, event)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - what is kept of them says it
    ) -> Sequence[str]:
        with self._told(f"`{address.service}`"):
            return tuple(lost(self._work(address), address, self.provider.clocks))

    def identity(self, address: DeploymentAddress) -> str:
        """Somebody sits and waits for it: not for long."""
        hurried = replace(self.waiting, most=min(self.waiting.most, _HURRIED))
        with self._told(f"`{self.provider.titles.id}`"):
            return identity(replace(self._work(address), waiting=hurried))

    def _told(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return told(whose, self.provider.judged, self.hide, orders)
