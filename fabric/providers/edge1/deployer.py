"""The built-in deployer for Cloudflare: a Worker per function, and one front Worker per service."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Diversion, Record
from fabric.providers.core.contract import (
    CallContext,
    DeploymentAddress,
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
from fabric.providers.core.errors import Quoted, convert_call_errors
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.edge1.client import (
    Edge1Api,
    Edge1Place,
    Edge1Settings,
    build_gate_name,
    build_worker_owner,
    classify_refusal,
)
from fabric.providers.edge1.diverting import divert_gate, read_diversion, restore_gate
from fabric.providers.edge1.functions import (
    ADDRESS,
    GATE,
    Edge1Work,
    build_routes_path,
    deploy_function,
    find_account_conflict,
    find_function,
    has_own,
    list_worker_versions,
    refuse_variables,
)
from fabric.providers.edge1.limits import find_setting_problems, find_unsupported
from fabric.providers.edge1.release import delete_functions, delete_service, release_service
from fabric.providers.edge1.routes import fetch_subdomain, is_open

_OPERATIONS = Operations(
    deploy=deploy_one_by_one(deploy_function),
    release=release_service,
    delete_functions=delete_functions,
    delete_service=delete_service,
    find=find_function,
)


class Edge1Workers(GuardedDeployer[Edge1Work], frozen=True):
    """The Cloudflare deployer. `connect` returns the client; `own` are the settings of this
    provider's config section."""

    connect: Callable[[], Edge1Api]
    own: Edge1Settings
    # The account in the environment.
    place: Edge1Place = Edge1Place()

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    @property
    def operations(self) -> Operations[Edge1Work]:
        return _OPERATIONS

    def _open_client(
        self, address: DeploymentAddress, watch: CallContext, quoted: Quoted
    ) -> Edge1Work:
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
        return find_account_conflict(record, self.place.account)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        settings = find_setting_problems(self.own, self.place)
        return (*find_unsupported(address, functions), *settings)

    def find_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        return find_versions(self.find, address, marks)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - their Workers are looked for one by one
    ) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return tuple(_find_missing(work, address))

    def identity(self, address: DeploymentAddress) -> str:
        """Fetch the identity with short waits, because a user waits for it."""
        with self._call("`edge1-workers`", address) as work:
            return _fetch_identity(replace(work, waiting=self._shorten_waiting()))

    def diversion(self, address: DeploymentAddress, url: str, mark: str) -> Diversion | None:
        with self._call(f"`{address.service}`", address) as work:
            return read_diversion(work, address, url, mark)

    def divert(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return divert_gate(work, address, diversion)

    def turn_back(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return restore_gate(work, diversion)

    def _translate_errors(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return convert_call_errors(whose, classify_refusal, self.hide, orders)


def _fetch_identity(work: Edge1Work) -> str:
    """Fetch the account. A token has no readable name, so the account identifies it."""
    work.tell(ProviderCall("GET", f"{work.workers}/scripts"))
    account = f"a token of the account {work.api.account.account}"
    if work.own.hostname:
        work.tell(ProviderCall("GET", build_routes_path(work.api.account.zone)))
        return f"{account}, with access to its Workers and to the routes of its zone"
    return f"{account}, with the subdomain {fetch_subdomain(work)}.workers.dev"


# Check that the resources of a service on Cloudflare other than its functions still exist.


def _find_missing(work: Edge1Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    kept = read_kept_texts(address)
    if not kept.texts.get(GATE):
        return
    name = build_gate_name(address)
    rows = list_worker_versions(work, name)
    if rows is None or not has_own(rows, build_worker_owner(address)):
        yield f"the front Worker `{name}`"
    elif not is_open(work, name, kept):
        yield f"the address `{kept.texts.get(ADDRESS, '')}` of the front Worker `{name}`"
