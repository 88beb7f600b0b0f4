"""cloud1 by its own interface: versions of functions, an alias that users meet, ways to be met."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.task import Pairs
from fabric.providers.cloud1.answers import explained
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.cloud1.function_settings import OwnSettings, function_name
from fabric.providers.cloud1.functions import made
from fabric.providers.cloud1.identity import identity
from fabric.providers.cloud1.invocation import invoked
from fabric.providers.cloud1.looking import lost
from fabric.providers.cloud1.ownership import where_it_is
from fabric.providers.cloud1.releasing import released
from fabric.providers.cloud1.removing import destroyed, dissolved
from fabric.providers.cloud1.unfit import unfit_drafts
from fabric.providers.cloud1.versions import Cloud1Work, made_under, met, until_ready
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
from fabric.providers.redaction import Redaction, nothing_shown, redaction_of
from fabric.providers.waiting import WAITING, Waiting


class Cloud1Lambda(Struct, frozen=True):
    """`connect` gives the clients of a region, `own` is what the config says of this provider
    alone, `hide` are values that no message may show."""

    connect: Callable[[str], Cloud1Clients]
    own: OwnSettings
    hide: Redaction
    waiting: Waiting = WAITING

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    def _work(self, address: DeploymentAddress) -> Cloud1Work:
        return Cloud1Work(self.connect(address.region), self.own, self.hide.quoted, self.waiting)

    def prepare(self, address: DeploymentAddress) -> None:
        _ = self._work(address).functions

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        return tuple(unfit_drafts(self.own, address, functions))

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
        with self._told(f"function `{order.name}`", order.env.reveal(), order.secret_values):
            return made(self._work(address), address, order, watch)

    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,  # noqa: ARG002 - deploys of single functions give nothing besides
        watch: CallWatch = UNWATCHED,
    ) -> Released:
        with self._told(f"`{address.service}`"):
            return released(self._work(address), address, functions, watch)

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            address = where_it_is(address)
            destroyed(self._work(address), address, functions, watch)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            address = where_it_is(address)
            dissolved(self._work(address), address, functions, watch)

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        name = function_name(address, function)
        with self._told(f"function `{function}`"):
            work = self._work(where_it_is(address))
            if not mark:
                return met(work, name, function)
            found = made_under(work, name, function, mark)
            if found is not None:  # whoever has made it may not have waited for it
                until_ready(work, name, UNWATCHED)
            return found

    def kept_version(self, address: DeploymentAddress, function: str, mark: str) -> str:
        found = self.find(address, function, mark)
        return found.resource_id if found else ""

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - what each has besides is not looked at
    ) -> Sequence[str]:
        with self._told(f"`{address.service}`"):
            return tuple(lost(self._work(where_it_is(address)), address))

    def identity(self, address: DeploymentAddress) -> str:
        with self._told("`cloud1-lambda`"):
            return identity(self._work(address))

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        with self._told(f"function `{function.name}`"):
            answer = invoked(self._work(where_it_is(address)), function, event)
        hide = self.hide.over
        return replace(answer, logs=hide(answer.logs), failure=hide(answer.failure))

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
