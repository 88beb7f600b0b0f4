"""The built-in deployer for OpenWhisk namespaces: an action per version, and an active one per
function."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.providers.contract import (
    CallWatch,
    DeploymentAddress,
    FunctionAnswer,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Unfit,
)
from fabric.providers.found_versions import found_versions
from fabric.providers.guarded_deployer import GuardedDeployer, Operations, one_by_one
from fabric.providers.redaction import Redaction
from fabric.providers.refused_calls import Judged, Quoted, told
from fabric.providers.trigger_kinds import public_ones
from fabric.providers.whisk.actions import found, made
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


class WhiskProvider(Struct, frozen=True):
    """The parts that differ between providers. `connect` returns the client."""

    titles: WhiskTitles
    limits: WhiskLimits
    judged: Judged
    connect: Callable[[], WhiskApi]
    clocks: Clocks


class WhiskFunctions(GuardedDeployer[WhiskWork], frozen=True):
    """The OpenWhisk deployer. `place` comes from the environment."""

    provider: WhiskProvider
    place: WhiskPlace

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    @property
    def operations(self) -> Operations[WhiskWork]:
        one = self.provider
        return Operations(
            one_by_one(partial(made, runtimes=one.limits.runtimes)),
            partial(released, clocks=one.clocks),
            partial(removed, clocks=one.clocks),
            partial(dissolved, clocks=one.clocks),
            found,
        )

    def _opened(self, address: DeploymentAddress, watch: CallWatch, quoted: Quoted) -> WhiskWork:
        """Open the context of one call. Raises for a record of another namespace."""
        said = other_place(address.previous, self.place) if address.previous else None
        if said is not None:
            raise FabricError(said)
        one = self.provider
        return WhiskWork(
            api=one.connect(),
            place=self.place,
            titles=one.titles,
            watch=watch,
            quoted=quoted,
            judged=one.judged,
            waiting=self.waiting,
        )

    def prepare(self, address: DeploymentAddress) -> None:  # noqa: ARG002 - one login for all
        self.provider.connect()

    def elsewhere(self, record: Record) -> Problem | None:
        return other_place(record, self.place)

    def public(self, functions: Sequence[FunctionDraft]) -> Sequence[str]:
        return public_ones(functions)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        return tuple(unfit_drafts(address, functions, self.provider.limits))

    def kept_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        return found_versions(self.find, address, marks)

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        with self._call(f"function `{function.name}`", address) as work:
            return invoked(work, function, event)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - what is kept of them says it
    ) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return tuple(lost(work, address, self.provider.clocks))

    def identity(self, address: DeploymentAddress) -> str:
        """Fetch the identity with short waits, because a user waits for it."""
        with self._call(f"`{self.provider.titles.id}`", address) as work:
            return identity(replace(work, waiting=self._hurried()))

    def _guarded(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return told(whose, self.provider.judged, self.hide, orders)
