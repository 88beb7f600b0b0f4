"""edge1 by its own interface: a Worker for each function, and one gate before all of a service."""

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
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Released,
    Unfit,
)
from fabric.providers.edge1.api import Edge1Api
from fabric.providers.edge1.functions import made, made_under, met
from fabric.providers.edge1.identity import identity
from fabric.providers.edge1.kept import other_account
from fabric.providers.edge1.looking import lost
from fabric.providers.edge1.own_settings import Edge1Place, Edge1Settings
from fabric.providers.edge1.refusals import judged
from fabric.providers.edge1.releasing import released
from fabric.providers.edge1.removing import destroyed, dissolved
from fabric.providers.edge1.unfit import unfit_drafts, unfit_settings
from fabric.providers.edge1.versions import Edge1Work
from fabric.providers.redaction import Redaction
from fabric.providers.refused_calls import quoting, told
from fabric.providers.waiting import WAITING, Waiting

_HURRIED = 3.0


class Edge1Workers(Struct, frozen=True):
    """`connect` gives the interface, `own` is what the config says of this provider alone, `hide`
    are values that no message may show, `place` is the account that the environment names."""

    connect: Callable[[], Edge1Api]
    own: Edge1Settings
    hide: Redaction
    place: Edge1Place = Edge1Place()
    waiting: Waiting = WAITING

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    def _work(
        self,
        address: DeploymentAddress,
        watch: CallWatch = UNWATCHED,
        hide: Redaction | None = None,
    ) -> Edge1Work:
        """What it says on the way quotes edge1 as errors do. Raises for a record of another
        account."""
        said = self.elsewhere(address.previous) if address.previous else None
        if said is not None:
            raise FabricError(said)
        quoted = (hide or self.hide).quoted
        heard = quoting(watch, quoted)
        return Edge1Work(self.connect(), self.own, heard, quoted, self.waiting)

    def prepare(self, address: DeploymentAddress) -> None:  # noqa: ARG002 - one place for all
        self.connect()

    def elsewhere(self, record: Record) -> Problem | None:
        return other_account(record, self.place.account)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        settings = unfit_settings(self.own, self.place)
        return (*unfit_drafts(address, functions), *settings)

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
            return made(self._work(address, watch, hide), address, order)

    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,  # noqa: ARG002 - deploys of single functions give nothing besides
        watch: CallWatch = UNWATCHED,
    ) -> Released:
        with self._told(f"`{address.service}`"):
            return released(self._work(address, watch), address, functions)

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            destroyed(self._work(address, watch), address, functions)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            dissolved(self._work(address, watch), address, functions)

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

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - their Workers are looked for one by one
    ) -> Sequence[str]:
        with self._told(f"`{address.service}`"):
            return tuple(lost(self._work(address), address))

    def identity(self, address: DeploymentAddress) -> str:
        """Somebody sits and waits for it: not for long."""
        hurried = replace(self.waiting, most=min(self.waiting.most, _HURRIED))
        with self._told("`edge1-workers`"):
            return identity(replace(self._work(address), waiting=hurried))

    def _told(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return told(whose, judged, self.hide, orders)
