"""host2 by its own interface: one site for a service, and one deploy for all of its functions."""

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
from fabric.providers.host2.api import Host2Api
from fabric.providers.host2.deploys import Host2Work
from fabric.providers.host2.identity import identity
from fabric.providers.host2.kept import other_site
from fabric.providers.host2.looking import kept_under, lost, made_under, met
from fabric.providers.host2.making import made
from fabric.providers.host2.own_settings import Host2Place
from fabric.providers.host2.refusals import judged
from fabric.providers.host2.releasing import released
from fabric.providers.host2.removing import dissolved, refuse_single
from fabric.providers.host2.unfit import unfit_drafts
from fabric.providers.redaction import Redaction
from fabric.providers.refused_calls import quoting, told
from fabric.providers.waiting import WAITING, Waiting

_HURRIED = 3.0


class Host2Sites(Struct, frozen=True):
    """`connect` gives the interface, `hide` are values that no message may show, `place` is the
    site that the environment names."""

    connect: Callable[[], Host2Api]
    hide: Redaction
    place: Host2Place = Host2Place()
    waiting: Waiting = WAITING

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.SERVICE

    def _work(
        self,
        address: DeploymentAddress,
        watch: CallWatch = UNWATCHED,
        hide: Redaction | None = None,
    ) -> Host2Work:
        """What it says on the way quotes host2 as errors do. Raises for a record of another
        site."""
        said = self.elsewhere(address.previous) if address.previous else None
        if said is not None:
            raise FabricError(said)
        quoted = (hide or self.hide).quoted
        return Host2Work(self.connect(), quoting(watch, quoted), quoted, self.waiting)

    def prepare(self, address: DeploymentAddress) -> None:  # noqa: ARG002 - one place for all
        self.connect()

    def elsewhere(self, record: Record) -> Problem | None:
        return other_site(record, self.place.site)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        return tuple(unfit_drafts(address, functions))

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallWatch = UNWATCHED,
    ) -> Deployed:
        with self._told(f"`{address.service}`", functions) as hide:
            return Deployed(made(self._work(address, watch, hide), address, functions))

    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,  # noqa: ARG002 - deploys here give nothing besides
        watch: CallWatch = UNWATCHED,
    ) -> Released:
        with self._told(f"`{address.service}`"):
            return released(self._work(address, watch), address, functions)

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,  # noqa: ARG002 - nothing is done
    ) -> None:
        refuse_single(address, functions)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - titles tell what is ours
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            dissolved(self._work(address, watch), address)

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        with self._told(f"function `{function}`"):
            work = self._work(address)
            if mark:
                return made_under(work, address, function, mark)
            return met(work, address, function)

    def kept_version(self, address: DeploymentAddress, function: str, mark: str) -> str:
        with self._told(f"function `{function}`"):
            return kept_under(self._work(address), address, function, mark)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - they are in the one deploy
    ) -> Sequence[str]:
        with self._told(f"`{address.service}`"):
            return tuple(lost(self._work(address), address))

    def identity(self, address: DeploymentAddress) -> str:
        """Somebody sits and waits for it: not for long."""
        hurried = replace(self.waiting, most=min(self.waiting.most, _HURRIED))
        with self._told("`host2`"):
            return identity(replace(self._work(address), waiting=hurried))

    def _told(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return told(whose, judged, self.hide, orders)
