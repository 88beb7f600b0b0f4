"""The built-in deployer for Vercel: one project per service, one deployment for all its
functions."""

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
from fabric.providers.host1.client import Host1Api, Host1Place, classify_refusal
from fabric.providers.host1.functions import Host1Work
from fabric.providers.host1.limits import find_unsupported
from fabric.providers.host1.output import refuse_orders
from fabric.providers.host1.projects import deploy_orders, fetch_domain, fetch_project
from fabric.providers.host1.release import (
    delete_service,
    find_function,
    find_missing,
    find_project_conflict,
    find_versions_by_marks,
    refuse_single,
    release_service,
)

_OPERATIONS = Operations(
    deploy=deploy_orders,
    release=release_service,
    delete_functions=refuse_single,
    delete_service=delete_service,
    find=find_function,
)


class Host1Projects(GuardedDeployer[Host1Work], frozen=True):
    """The Vercel deployer. `connect` returns the client; `place` is the project in the
    environment."""

    connect: Callable[[], Host1Api]
    place: Host1Place = Host1Place()

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.SERVICE

    @property
    def operations(self) -> Operations[Host1Work]:
        return _OPERATIONS

    def _open_client(
        self, address: DeploymentAddress, watch: CallContext, quoted: Quoted
    ) -> Host1Work:
        """Open the context of one call. Raises for a record of another project."""
        said = self.elsewhere(address.previous) if address.previous else None
        if said is not None:
            raise FabricError(said)
        return Host1Work(self.connect(), watch, quoted, self.waiting)

    def _refuse(self, orders: Sequence[FunctionOrder]) -> None:
        refuse_orders(orders)

    def prepare(self, address: DeploymentAddress) -> None:  # noqa: ARG002 - one place for all
        self.connect()

    def elsewhere(self, record: Record) -> Problem | None:
        return find_project_conflict(record, self.place.project)

    @property
    def sole_place(self) -> str:
        """The project, which can contain only one service."""
        return f"the project `{self.place.project}`" if self.place.project else ""

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
        functions: Sequence[LiveFunction],  # noqa: ARG002 - they are in the one deployment
    ) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return tuple(find_missing(work, address))

    def identity(self, address: DeploymentAddress) -> str:
        """Fetch the identity with short waits, because a user waits for it."""
        with self._call("`host1`", address) as work:
            return _fetch_identity(replace(work, waiting=self._shorten_waiting()))

    def _translate_errors(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return convert_call_errors(whose, classify_refusal, self.hide, orders)


# The identity of the Vercel token, and whether it can read the project. Changes nothing.


class _Somebody(Struct, frozen=True):
    email: str | None = None
    username: str | None = None


class _WhoAnswer(Struct, frozen=True):
    user: _Somebody = _Somebody()


def _fetch_identity(work: Host1Work) -> str:
    user = work.ask(ProviderCall("GET", "/v2/user"), _WhoAnswer).user
    project = fetch_project(work)
    who = user.email or user.username or "a user without a name"
    return f"{who}, with the project {project.name} at {fetch_domain(work)}"
