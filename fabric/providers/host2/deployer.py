"""The built-in deployer for Netlify: one site per service, and one deploy for all its functions."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.providers.core.contract import (
    CallContext,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Unsupported,
)
from fabric.providers.core.deployer import GuardedDeployer, Operations
from fabric.providers.core.errors import Quoted, convert_call_errors
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.redaction import Redaction
from fabric.providers.host2.client import Host2Api, Host2Place, classify_refusal
from fabric.providers.host2.functions import Host2Work, fetch_site
from fabric.providers.host2.limits import find_unsupported
from fabric.providers.host2.making import deploy_orders
from fabric.providers.host2.release import (
    delete_service,
    find_function,
    find_missing,
    find_site_conflict,
    find_versions_by_marks,
    refuse_single,
    release_service,
)
from fabric.providers.host2.uploads import refuse_orders

_OPERATIONS = Operations(
    deploy=deploy_orders,
    release=release_service,
    delete_functions=refuse_single,
    delete_service=delete_service,
    find=find_function,
)


class Host2Sites(GuardedDeployer[Host2Work], frozen=True):
    """The Netlify deployer. `connect` returns the client; `place` is the site in the
    environment."""

    connect: Callable[[], Host2Api]
    place: Host2Place = Host2Place()

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.SERVICE

    @property
    def operations(self) -> Operations[Host2Work]:
        return _OPERATIONS

    def _open_client(
        self, address: DeploymentAddress, watch: CallContext, quoted: Quoted
    ) -> Host2Work:
        """Open the context of one call. Raises for a record of another site."""
        said = self.elsewhere(address.previous) if address.previous else None
        if said is not None:
            raise FabricError(said)
        return Host2Work(self.connect(), watch, quoted, self.waiting)

    def _refuse(self, orders: Sequence[FunctionOrder]) -> None:
        refuse_orders(orders)

    def prepare(self, address: DeploymentAddress) -> None:  # noqa: ARG002 - one place for all
        self.connect()

    def elsewhere(self, record: Record) -> Problem | None:
        return find_site_conflict(record, self.place.site)

    @property
    def sole_place(self) -> str:
        return f"the site `{self.place.site}`" if self.place.site else ""

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_unsupported(address, functions))

    def find_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        with self._call(f"`{address.service}`", address) as work:
            return find_versions_by_marks(work, address, marks)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - they are in the one deploy
    ) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return tuple(find_missing(work, address))

    def identity(self, address: DeploymentAddress) -> str:
        """Fetch the identity with short waits, because a user waits for it."""
        with self._call("`host2`", address) as work:
            return _fetch_identity(replace(work, waiting=self._shorten_waiting()))

    def _translate_errors(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return convert_call_errors(whose, classify_refusal, self.hide, orders)


# The identity of the Netlify token, and whether it can read the site. Changes nothing.


class _User(Struct, frozen=True):
    email: str | None = None
    full_name: str | None = None


def _fetch_identity(work: Host2Work) -> str:
    user = work.ask(ProviderCall("GET", "/user"), _User)
    site = fetch_site(work)
    who = user.email or user.full_name or "a user without a name"
    return f"{who}, with the site {site.name or work.site} at {site.endpoint}"
