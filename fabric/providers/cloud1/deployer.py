"""The built-in deployer for AWS Lambda: function versions, a live alias, and event sources."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import Problem
from fabric.model.records.diversion import Diversion
from fabric.providers.cloud1.answers import explained
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.cloud1.diverting import diversion_of, diverted, turned_back, where_it_was
from fabric.providers.cloud1.function_settings import OwnSettings
from fabric.providers.cloud1.functions import found, made
from fabric.providers.cloud1.identity import identity
from fabric.providers.cloud1.invocation import invoked
from fabric.providers.cloud1.looking import lost
from fabric.providers.cloud1.ownership import misplaced, where_it_is
from fabric.providers.cloud1.releasing import released
from fabric.providers.cloud1.removing import destroyed, dissolved
from fabric.providers.cloud1.unfit import unfit_drafts
from fabric.providers.cloud1.versions import Cloud1Work
from fabric.providers.contract import (
    UNWATCHED,
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
from fabric.providers.redaction import Redaction, nothing_shown
from fabric.providers.refused_calls import Quoted, over_orders

_OPERATIONS = Operations(one_by_one(made), released, destroyed, dissolved, found)


class Cloud1Lambda(GuardedDeployer[Cloud1Work], frozen=True):
    """The AWS Lambda deployer. `connect` returns the clients of a region; `own` are the settings of
    this provider's config section."""

    connect: Callable[[str], Cloud1Clients]
    own: OwnSettings

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    @property
    def operations(self) -> Operations[Cloud1Work]:
        return _OPERATIONS

    def _opened(self, address: DeploymentAddress, watch: CallWatch, quoted: Quoted) -> Cloud1Work:
        return Cloud1Work(self.connect(address.region), self.own, watch, quoted, self.waiting)

    def prepare(self, address: DeploymentAddress) -> None:
        _ = self.connect(address.region).of("lambda")

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        return tuple(unfit_drafts(self.own, address, functions))

    def misplaced(self, address: DeploymentAddress) -> Problem | None:
        return misplaced(address)

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

    def kept_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        return found_versions(self.find, address, marks)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - what each has besides is not looked at
    ) -> Sequence[str]:
        with self._call(f"`{address.service}`", where_it_is(address)) as work:
            return tuple(lost(work, address))

    def identity(self, address: DeploymentAddress) -> str:
        with self._call("`cloud1-lambda`", address) as work:
            return identity(work)

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        with self._call(f"function `{function.name}`", where_it_is(address)) as work:
            answer = invoked(work, function, event)
        hide = self.hide.over
        return replace(answer, logs=hide(answer.logs), failure=hide(answer.failure))

    def diversion(self, address: DeploymentAddress, url: str, mark: str) -> Diversion | None:
        with self._call(f"`{address.service}`", where_it_is(address)) as work:
            return diversion_of(work, address, url, mark)

    def divert(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        with self._call(f"`{address.service}`", where_it_is(address)) as work:
            return diverted(work, diversion)

    def turn_back(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        there = where_it_was(address, diversion)
        with self._call(f"`{address.service}`", there) as work:
            return turned_back(work, diversion)

    @contextlib.contextmanager
    def _guarded(self, whose: str, orders: Sequence[FunctionOrder] = ()) -> Iterator[Redaction]:
        hide = over_orders(self.hide, orders)
        with nothing_shown(hide), explained(whose, hide.quoted):
            yield hide
