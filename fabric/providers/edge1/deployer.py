"""edge1 by its own interface: a Worker for each function, and one gate before all of a service."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
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
from fabric.providers.edge1.own_settings import Edge1Settings
from fabric.providers.edge1.refusals import explained
from fabric.providers.edge1.releasing import released
from fabric.providers.edge1.removing import destroyed, dissolved
from fabric.providers.edge1.unfit import unfit_drafts
from fabric.providers.edge1.versions import Edge1Work
from fabric.providers.redaction import Redaction, nothing_shown, redaction_of
from fabric.providers.waiting import WAITING, Waiting

_HURRIED = 3.0


class Edge1Workers(Struct, frozen=True):
    """`connect` gives the interface, `own` is what the config says of this provider alone, `hide`
    are values that no message may show."""

    connect: Callable[[], Edge1Api]
    own: Edge1Settings
    hide: Redaction
    waiting: Waiting = WAITING

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    def _work(self, watch: CallWatch = UNWATCHED) -> Edge1Work:
        return Edge1Work(self.connect(), self.own, watch, self.waiting)

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
        return Deployed(tuple(self._deployed(address, order, watch) for order in functions))

    def _deployed(
        self, address: DeploymentAddress, order: FunctionOrder, watch: CallWatch
    ) -> LiveFunction:
        secrets = [value for name, value in order.env.reveal() if name in order.secret]
        with self._told(f"function `{order.name}`", order.env.reveal(), secrets):
            return made(self._work(watch), address, order)

    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,  # noqa: ARG002 - deploys of single functions give nothing besides
        watch: CallWatch = UNWATCHED,
    ) -> Released:
        with self._told(f"`{address.service}`"):
            return released(self._work(watch), address, functions)

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            destroyed(self._work(watch), address, functions)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            dissolved(self._work(watch), address, functions)

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        with self._told(f"function `{function}`"):
            work = self._work()
            if mark:
                return made_under(work, address, function, mark)
            return met(work, address, function)

    def identity(self, address: DeploymentAddress) -> str:  # noqa: ARG002 - one account has all
        """Somebody sits and waits for it: not for long."""
        hurried = replace(self.waiting, most=min(self.waiting.most, _HURRIED))
        with self._told("`edge1-workers`"):
            return identity(replace(self._work(), waiting=hurried))

    @contextlib.contextmanager
    def _told(
        self,
        whose: str,
        variables: Iterable[tuple[str, str]] = (),
        secrets: Iterable[str] = (),
    ) -> Iterator[None]:
        hide = redaction_of((*self.hide.values.reveal(), *secrets), variables)
        with nothing_shown(hide), explained(whose, hide.quoted):
            yield
