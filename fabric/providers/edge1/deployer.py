"""The built-in deployer for Cloudflare: a Worker per function, and one front Worker per service."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.diversion import Diversion
from fabric.model.records.record import Record
from fabric.providers.contract import (
    CallWatch,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Unfit,
)
from fabric.providers.edge1.api import Edge1Api
from fabric.providers.edge1.diverting import diversion_of, diverted, turned_back
from fabric.providers.edge1.functions import found, made, refuse_variables
from fabric.providers.edge1.identity import identity
from fabric.providers.edge1.kept import other_account
from fabric.providers.edge1.looking import lost
from fabric.providers.edge1.own_settings import Edge1Place, Edge1Settings
from fabric.providers.edge1.refusals import judged
from fabric.providers.edge1.releasing import released
from fabric.providers.edge1.removing import destroyed, dissolved
from fabric.providers.edge1.unfit import unfit_drafts, unfit_settings
from fabric.providers.edge1.versions import Edge1Work
from fabric.providers.found_versions import found_versions
from fabric.providers.guarded_deployer import GuardedDeployer, Operations, one_by_one
from fabric.providers.redaction import Redaction
from fabric.providers.refused_calls import Quoted, told

_OPERATIONS = Operations(one_by_one(made), released, destroyed, dissolved, found)


class Edge1Workers(GuardedDeployer[Edge1Work], frozen=True):
    """The Cloudflare deployer. `connect` returns the client; `own` are the settings of this
    provider's config section.

    `place` is the account in the environment.
    """

    connect: Callable[[], Edge1Api]
    own: Edge1Settings
    place: Edge1Place = Edge1Place()

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    @property
    def operations(self) -> Operations[Edge1Work]:
        return _OPERATIONS

    def _opened(self, address: DeploymentAddress, watch: CallWatch, quoted: Quoted) -> Edge1Work:
        """Open the context of one call. Raises for a record of another account."""
        said = self.elsewhere(address.previous) if address.previous else None
        if said is not None:
            raise FabricError(said)
        return Edge1Work(self.connect(), self.own, watch, quoted, self.waiting)

    def _refuse(self, orders: Sequence[FunctionOrder]) -> None:
        for order in orders:
            refuse_variables(order)

    def prepare(self, address: DeploymentAddress) -> None:  # noqa: ARG002 - one place for all
        self.connect()

    def elsewhere(self, record: Record) -> Problem | None:
        return other_account(record, self.place.account)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        settings = unfit_settings(self.own, self.place)
        return (*unfit_drafts(address, functions), *settings)

    def kept_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        return found_versions(self.find, address, marks)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - their Workers are looked for one by one
    ) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return tuple(lost(work, address))

    def identity(self, address: DeploymentAddress) -> str:
        """Fetch the identity with short waits, because a user waits for it."""
        with self._call("`edge1-workers`", address) as work:
            return identity(replace(work, waiting=self._hurried()))

    def diversion(self, address: DeploymentAddress, url: str, mark: str) -> Diversion | None:
        with self._call(f"`{address.service}`", address) as work:
            return diversion_of(work, address, url, mark)

    def divert(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return diverted(work, address, diversion)

    def turn_back(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return turned_back(work, diversion)

    def _guarded(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return told(whose, judged, self.hide, orders)
