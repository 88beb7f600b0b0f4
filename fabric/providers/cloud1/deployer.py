"""cloud1 by its own interface: versions of functions, an alias that users meet, ways to be met."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.cloud1.aliases import cut_over, kept_versions
from fabric.providers.cloud1.answers import GONE, explained, unless
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.cloud1.function_settings import OwnSettings, alias_of, function_name
from fabric.providers.cloud1.functions import made
from fabric.providers.cloud1.gateway import endpoint_in, released_gateway, removed_gateway
from fabric.providers.cloud1.gateway_plan import wanted_gateway
from fabric.providers.cloud1.identity import identity
from fabric.providers.cloud1.invocation import invoked
from fabric.providers.cloud1.side_by_side import side_by_side
from fabric.providers.cloud1.unfit import unfit_drafts
from fabric.providers.cloud1.versions import Cloud1Work, made_under, met
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
from fabric.providers.naming import function_endpoint
from fabric.providers.redaction import Redaction, redaction_of
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
        return Cloud1Work(self.connect(address.region), self.own, self.waiting)

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
        with self._told(f"function `{order.name}`", order.env.reveal()):
            return made(self._work(address), address, order, watch)

    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,  # noqa: ARG002 - deploys of single functions give nothing besides
        watch: CallWatch = UNWATCHED,
    ) -> Released:
        kept = _kept(address)
        with self._told(f"`{address.service}`"):
            work = self._work(address)
            gateway_wanted = wanted_gateway(address, functions)
            moved = cut_over(work, functions, kept, watch)
            asked = (address, gateway_wanted, moved.fresh)
            gateway = released_gateway(work, asked, kept, watch)
        left = {**kept_versions(functions), **gateway}
        endpoint = endpoint_in(gateway)
        return Released(endpoint, _outputs(address, endpoint, functions), tuple(left.items()))

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            work = self._work(address)
            side_by_side(lambda one: _gone(work, address, one, watch), functions)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told(f"`{address.service}`"):
            removed_gateway(self._work(address), address, _kept(address))
        self.destroy(address, functions, watch)

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        name = function_name(address, function)
        with self._told(f"function `{function}`"):
            work = self._work(address)
            return made_under(work, name, function, mark) if mark else met(work, name, function)

    def identity(self, address: DeploymentAddress) -> str:
        with self._told("`cloud1-lambda`"):
            return identity(self._work(address))

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        with self._told(f"function `{function.name}`"):
            answer = invoked(self._work(address), function, event)
        hide = self.hide.over
        return replace(answer, logs=hide(answer.logs), failure=hide(answer.failure))

    @contextlib.contextmanager
    def _told(self, whose: str, variables: Iterable[tuple[str, str]] = ()) -> Iterator[None]:
        """Services quote what they were sent: no message may carry a value on."""
        hide = redaction_of(self.hide.values.reveal(), variables)
        try:
            with explained(whose):
                yield
        except FabricError as error:
            raise FabricError(*(_hidden(one, hide) for one in error.problems)) from error


def _gone(
    work: Cloud1Work, address: DeploymentAddress, one: LiveFunction, watch: CallWatch
) -> None:
    name = one.resource_name or function_name(address, one.name)
    with unless(GONE):
        work.functions.delete_function(FunctionName=name)
    watch.hear(f"{one.name}: deleted, with all of its versions")


def _outputs(address: DeploymentAddress, endpoint: str, functions: Sequence[LiveFunction]) -> Pairs:
    """Others receive what stays the same from version to version."""
    outputs = {"url": endpoint, "region": address.region}
    for one in functions:
        below = function_endpoint(endpoint, one.triggers)
        if below:
            outputs[f"url_{one.name}"] = below
        outputs[f"arn_{one.name}"] = alias_of(one.resource_id)
    return tuple((name, text) for name, text in outputs.items() if text)


def _hidden(problem: Problem, hide: Redaction) -> Problem:
    return replace(problem, message=hide.over(problem.message))


def _kept(address: DeploymentAddress) -> Mapping[str, str]:
    return dict(address.previous.kept) if address.previous else {}
