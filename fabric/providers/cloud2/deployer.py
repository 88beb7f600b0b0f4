"""The built-in deployer for Google Cloud: one cloud function per function, built there from
source."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.providers.cloud2.api import Cloud2Api
from fabric.providers.cloud2.documents import refuse_order
from fabric.providers.cloud2.functions import found, made
from fabric.providers.cloud2.identity import identity
from fabric.providers.cloud2.kept import other_place, where_it_is
from fabric.providers.cloud2.looking import lost
from fabric.providers.cloud2.own_settings import Cloud2Place, Cloud2Settings
from fabric.providers.cloud2.refusals import judged
from fabric.providers.cloud2.releasing import released
from fabric.providers.cloud2.removing import removed
from fabric.providers.cloud2.unfit import unfit_clocks, unfit_drafts, unfit_settings
from fabric.providers.cloud2.work import BUILDING, Cloud2Work
from fabric.providers.contract import (
    UNWATCHED,
    CallWatch,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Unfit,
)
from fabric.providers.found_versions import found_versions
from fabric.providers.guarded_deployer import GuardedDeployer, Operations, one_by_one
from fabric.providers.redaction import Redaction
from fabric.providers.refused_calls import Quoted, told
from fabric.providers.trigger_kinds import public_ones
from fabric.providers.waiting import Waiting

_OPERATIONS = Operations(one_by_one(made), released, removed, removed, found)


class Cloud2Functions(GuardedDeployer[Cloud2Work], frozen=True):
    """The Google Cloud deployer. `connect` returns the API client; `own` are the settings of this
    provider's config section.

    `place` comes from the environment, and `building` limits the duration of a build.
    """

    connect: Callable[[], Cloud2Api]
    own: Cloud2Settings
    place: Cloud2Place
    building: Waiting = BUILDING

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    @property
    def operations(self) -> Operations[Cloud2Work]:
        return _OPERATIONS

    def _opened(self, address: DeploymentAddress, watch: CallWatch, quoted: Quoted) -> Cloud2Work:
        """Open the context of one call. Raises for a record of another project or region."""
        place = self._place(address.region)
        said = self.misplaced(address)
        if said is not None:
            raise FabricError(said)
        api = self.connect()
        return Cloud2Work(api, self.own, place, watch, quoted, self.waiting, self.building)

    def _place(self, region: str) -> Cloud2Place:
        return replace(self.place, region=region or self.place.region)

    def _refuse(self, orders: Sequence[FunctionOrder]) -> None:
        for order in orders:
            refuse_order(order)

    def prepare(self, address: DeploymentAddress) -> None:  # noqa: ARG002 - one login for all
        self.connect()

    def elsewhere(self, record: Record) -> Problem | None:
        """Compare projects only: the region can come from the config, and a later call checks
        it."""
        return other_place(record, self.place, is_region_known=False)

    def public(self, functions: Sequence[FunctionDraft]) -> Sequence[str]:
        return public_ones(functions)

    def misplaced(self, address: DeploymentAddress) -> Problem | None:
        previous = address.previous
        return other_place(previous, self._place(address.region)) if previous else None

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        super().destroy(where_it_is(address), functions, watch)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        super().dissolve(where_it_is(address), functions, watch)

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        return super().find(where_it_is(address), function, mark)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        return (
            *unfit_drafts(address, functions),
            *unfit_settings(self.own),
            *unfit_clocks(self.own, self.place.project, functions),
        )

    def kept_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        return found_versions(self.find, address, marks)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - what is kept of them says it
    ) -> Sequence[str]:
        with self._call(f"`{address.service}`", where_it_is(address)) as work:
            return tuple(lost(work, address))

    def identity(self, address: DeploymentAddress) -> str:
        """Fetch the identity with short waits, because a user waits for it."""
        with self._call("`cloud2-functions`", address) as work:
            return identity(replace(work, waiting=self._hurried()))

    def _guarded(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return told(whose, judged, self.hide, orders)
