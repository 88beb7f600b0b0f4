"""cloud2 by its own interfaces: a function for each of a service's, built there from its source."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.model.task import Pairs
from fabric.providers.cloud2.api import Cloud2Api
from fabric.providers.cloud2.functions import made, made_under, met
from fabric.providers.cloud2.identity import identity
from fabric.providers.cloud2.kept import other_place
from fabric.providers.cloud2.looking import lost
from fabric.providers.cloud2.own_settings import Cloud2Place, Cloud2Settings
from fabric.providers.cloud2.refusals import judged
from fabric.providers.cloud2.releasing import released
from fabric.providers.cloud2.removing import removed
from fabric.providers.cloud2.unfit import unfit_drafts, unfit_settings
from fabric.providers.cloud2.work import BUILDING, Cloud2Work
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
from fabric.providers.redaction import Redaction
from fabric.providers.refused_calls import quoting, told
from fabric.providers.waiting import WAITING, Waiting

_HURRIED = 3.0


class Cloud2Functions(Struct, frozen=True):
    """`connect` gives the interface, `own` is what the config says of this provider alone, `hide`
    are values that no message may show, `place` is what the environment names, and `building` how
    long a build may take."""

    connect: Callable[[], Cloud2Api]
    own: Cloud2Settings
    hide: Redaction
    place: Cloud2Place
    waiting: Waiting = WAITING
    building: Waiting = BUILDING

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    def _work(
        self,
        address: DeploymentAddress,
        watch: CallWatch = UNWATCHED,
        hide: Redaction | None = None,
    ) -> Cloud2Work:
        """What it says on the way quotes cloud2 as errors do. Raises for a record of another
        place."""
        place = self._place(address.region)
        said = other_place(address.previous, place) if address.previous else None
        if said is not None:
            raise FabricError(said)
        quoted = (hide or self.hide).quoted
        heard = quoting(watch, quoted)
        api = self.connect()
        return Cloud2Work(api, self.own, place, heard, quoted, self.waiting, self.building)

    def _place(self, region: str) -> Cloud2Place:
        return replace(self.place, region=region or self.place.region)

    def prepare(self, address: DeploymentAddress) -> None:  # noqa: ARG002 - one login for all
        self.connect()

    def elsewhere(self, record: Record) -> Problem | None:
        """A region may be the config's own, which is not known here: it is judged with a call."""
        return other_place(record, self.place, is_region_known=False)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        return (*unfit_drafts(address, functions), *unfit_settings(self.own))

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
            removed(self._work(address, watch), address, functions)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        """A service has nothing at cloud2 but its functions, and what is theirs."""
        self.destroy(address, functions, watch)

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
        functions: Sequence[LiveFunction],  # noqa: ARG002 - what is kept of them says it
    ) -> Sequence[str]:
        with self._told(f"`{address.service}`"):
            return tuple(lost(self._work(address), address))

    def identity(self, address: DeploymentAddress) -> str:
        """Somebody sits and waits for it: not for long."""
        hurried = replace(self.waiting, most=min(self.waiting.most, _HURRIED))
        with self._told("`cloud2-functions`"):
            return identity(replace(self._work(address), waiting=hurried))

    def _told(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return told(whose, judged, self.hide, orders)
