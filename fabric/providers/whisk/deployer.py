"""The built-in deployer for OpenWhisk namespaces: an action per version, and an active one per
function."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.providers.core.contract import (
    CallContext,
    DeploymentAddress,
    FunctionAnswer,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Unsupported,
)
from fabric.providers.core.deployer import (
    GuardedDeployer,
    Operations,
    deploy_one_by_one,
    find_versions,
)
from fabric.providers.core.errors import Judged, Quoted, convert_call_errors
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.triggers import list_public_functions
from fabric.providers.whisk.actions import deploy_function, find_function
from fabric.providers.whisk.api import WhiskApi
from fabric.providers.whisk.calling import invoke_function
from fabric.providers.whisk.capability_checks import WhiskLimits, find_unsupported
from fabric.providers.whisk.clocks import Clocks
from fabric.providers.whisk.release_state import CLOCKS, find_place_conflict
from fabric.providers.whisk.releasing import release_service
from fabric.providers.whisk.removing import delete_functions, delete_service
from fabric.providers.whisk.resource_names import WhiskPlace, package_name
from fabric.providers.whisk.work import WhiskTitles, WhiskWork


class WhiskProvider(Struct, frozen=True):
    """The parts that differ between providers."""

    titles: WhiskTitles
    limits: WhiskLimits
    judged: Judged
    # Returns the client.
    connect: Callable[[], WhiskApi]
    clocks: Clocks


class WhiskFunctions(GuardedDeployer[WhiskWork], frozen=True):
    """The OpenWhisk deployer."""

    provider: WhiskProvider
    # Comes from the environment.
    place: WhiskPlace

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    @property
    def operations(self) -> Operations[WhiskWork]:
        one = self.provider
        return Operations(
            deploy_one_by_one(partial(deploy_function, runtimes=one.limits.runtimes)),
            partial(release_service, clocks=one.clocks),
            partial(delete_functions, clocks=one.clocks),
            partial(delete_service, clocks=one.clocks),
            find_function,
        )

    def _open_client(
        self, address: DeploymentAddress, watch: CallContext, quoted: Quoted
    ) -> WhiskWork:
        """Open the context of one call. Raises for a record of another namespace."""
        said = find_place_conflict(address.previous, self.place) if address.previous else None
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
        return find_place_conflict(record, self.place)

    def public(self, functions: Sequence[FunctionDraft]) -> Sequence[str]:
        return list_public_functions(functions)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_unsupported(address, functions, self.provider.limits))

    def find_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        return find_versions(self.find, address, marks)

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        with self._call(f"function `{function.name}`", address) as work:
            return invoke_function(work, function, event)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - what is kept of them says it
    ) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return tuple(_find_missing(work, address, self.provider.clocks))

    def identity(self, address: DeploymentAddress) -> str:
        """Fetch the identity with short waits, because a user waits for it."""
        with self._call(f"`{self.provider.titles.id}`", address) as work:
            return _fetch_identity(replace(work, waiting=self._shorten_waiting()))

    def _translate_errors(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return convert_call_errors(whose, self.provider.judged, self.hide, orders)


def _find_missing(work: WhiskWork, address: DeploymentAddress, clocks: Clocks) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    texts = read_kept_texts(address).texts
    told = [text for name, text in texts.items() if name.startswith(CLOCKS)]
    wanted = [pair.rpartition("=")[0] for text in told for pair in text.split()]
    there = clocks.there(work, package_name(address)) if wanted else {}
    yield from (f"the trigger `{ident}`" for ident in wanted if ident not in there)


def _fetch_identity(work: WhiskWork) -> str:
    work.ask(ProviderCall("GET", "/packages?limit=1"), object)
    host = work.api.door.base_url.partition("://")[2]
    return f"a key with read access to packages of `{work.place.namespace}` at {host}"
