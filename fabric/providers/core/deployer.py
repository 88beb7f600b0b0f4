"""The shared base of built-in deployers: it attributes errors to a function or service and hides
secrets in all messages."""

import contextlib
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from msgspec import Struct, StructMeta
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.model.task import Pairs
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    Deployed,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    LiveFunctions,
    Released,
    Unsupported,
)
from fabric.providers.core.errors import Quoted, extend_redaction, mark_untouched, redact_progress
from fabric.providers.core.ownership import RegionalPlace, other_place_problem
from fabric.providers.core.redaction import Redaction, redact_errors
from fabric.providers.core.retry import WAITING, RetryPolicy
from fabric.providers.core.triggers import list_public_functions
from fabric.providers.core.work import CallScope

Work = TypeVar("Work")
Place = TypeVar("Place", bound=RegionalPlace)
# A user waits for the answer of `identity`.
_HURRIED = 3.0


def _find_nothing(_work: object, _address: DeploymentAddress) -> tuple[str, ...]:
    return ()


def _accept_order(_order: FunctionOrder) -> None:
    pass


class Operations(Struct, Generic[Work], frozen=True, kw_only=True):
    """The provider's implementation of each deployer call, as separate functions."""

    deploy: Callable[[Work, DeploymentAddress, Sequence[FunctionOrder]], Iterable[LiveFunction]]
    release: Callable[[Work, DeploymentAddress, Sequence[LiveFunction]], Released]
    delete_functions: Callable[[Work, DeploymentAddress, Sequence[LiveFunction]], None]
    delete_service: Callable[[Work, DeploymentAddress, Sequence[LiveFunction]], None]
    # The version that receives traffic.
    find_active: Callable[[Work, DeploymentAddress, str], LiveFunction | None]
    find_by_mark: Callable[[Work, DeploymentAddress, str, str], LiveFunction | None]
    # Raises for an unsupported order, without an API call: variable values are first known here.
    refuse_order: Callable[[FunctionOrder], None] = _accept_order
    # The resources of the last release that no longer exist, other than functions.
    find_missing: Callable[[Work, DeploymentAddress], Iterable[str]] = _find_nothing
    # The event sources with other settings than at the last release.
    find_changed_sources: Callable[[Work, DeploymentAddress], Iterable[str]] = _find_nothing
    # The identity of the credentials, and whether they can read functions. Changes nothing.
    fetch_identity: Callable[[Work], str]
    # Converts API errors inside the block to problems of a function or a service.
    convert_errors: Callable[[str, Quoted], AbstractContextManager[None]]


def deploy_one_by_one(
    deploy: Callable[[Work, DeploymentAddress, FunctionOrder], LiveFunction],
) -> Callable[[Work, DeploymentAddress, Sequence[FunctionOrder]], Iterable[LiveFunction]]:
    return lambda work, address, orders: (deploy(work, address, one) for one in orders)


class UnqueriedDeployer(Struct, frozen=True):
    """The base class of deployers without a provider to query: nothing is unsupported, found or
    deleted."""

    def unfit(
        self,
        address: DeploymentAddress,  # noqa: ARG002 - the protocol
        functions: Sequence[FunctionDraft],  # noqa: ARG002
    ) -> Sequence[Unsupported]:
        return ()

    def destroy(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> None:
        """Delete nothing."""

    def dissolve(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> None:
        """Delete nothing."""

    def find(
        self,
        address: DeploymentAddress,  # noqa: ARG002 - the protocol
        function: str,  # noqa: ARG002
        mark: str = "",  # noqa: ARG002
    ) -> LiveFunction | None:
        """Return nothing: the functions exist only in state."""
        return None


class _AbstractStruct(StructMeta, ABCMeta):
    """A metaclass for structs that cannot be instantiated while an abstract method is missing."""


class GuardedDeployer(Struct, Generic[Work], frozen=True, kw_only=True, metaclass=_AbstractStruct):
    """The base class of built-in deployers. `Work` is the provider's context of one call: its
    client and settings."""

    unit: DeployUnit
    operations: Operations[Work]
    # Holds values that no message can show.
    hide: Redaction
    waiting: RetryPolicy = WAITING

    @abstractmethod
    def _open_work(self, scope: CallScope) -> Work:
        """Open the context of one call, without an API call."""

    @abstractmethod
    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        """List unsupported settings without an API call."""

    def _refuse(self, orders: Sequence[FunctionOrder]) -> None:
        """Raise for orders that this provider does not support, without an API call."""
        for order in orders:
            self.operations.refuse_order(order)

    def _locate(self, address: DeploymentAddress) -> DeploymentAddress:
        """Return the address of deployed functions, which can differ from the configured one."""
        return address

    def elsewhere(self, record: Record) -> Problem | None:  # noqa: ARG002 - of most providers
        """Return a problem if this record belongs to another account. Makes no API call."""
        return None

    def _find_conflict(self, address: DeploymentAddress) -> Problem | None:
        """Return a problem for a record of another account or region."""
        return self.elsewhere(address.previous) if address.previous else None

    @contextlib.contextmanager
    def _call(
        self,
        whose: str,
        address: DeploymentAddress,
        watch: CallContext = NO_CONTEXT,
        orders: Sequence[FunctionOrder] = (),
        waiting: RetryPolicy | None = None,
    ) -> Iterator[Work]:
        hide = extend_redaction(self.hide, orders)
        with redact_errors(hide), self.operations.convert_errors(whose, hide.quote):
            with mark_untouched():
                self._refuse(orders)
                problem = self._find_conflict(address)
                if problem is not None:
                    raise FabricError(problem)
                watch = redact_progress(watch, hide.quote)
                scope = CallScope(address, watch, hide.quote, waiting or self.waiting)
                work = self._open_work(scope)
            yield work

    def prepare(self, address: DeploymentAddress) -> None:
        """Load the libraries while other services still build. Makes no API call."""
        self._open_work(CallScope(address, NO_CONTEXT, self.hide.quote, self.waiting))

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        units = [functions] if self.unit is DeployUnit.SERVICE else [[one] for one in functions]
        return Deployed(
            tuple(live for one in units for live in self._deploy_orders(address, one, watch))
        )

    def _deploy_orders(
        self, address: DeploymentAddress, orders: Sequence[FunctionOrder], watch: CallContext
    ) -> tuple[LiveFunction, ...]:
        is_whole = self.unit is DeployUnit.SERVICE
        whose = f"`{address.service}`" if is_whole else f"function `{orders[0].name}`"
        with self._call(whose, address, watch, orders) as work:
            return tuple(self.operations.deploy(work, address, orders))

    def release(
        self,
        address: DeploymentAddress,
        functions: LiveFunctions,
        given: Pairs,  # noqa: ARG002 - built-in deploys have no outputs of their own
        watch: CallContext = NO_CONTEXT,
    ) -> Released:
        with self._call(f"`{address.service}`", address, watch) as work:
            return self.operations.release(work, address, functions)

    def destroy(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> None:
        self._delete(self.operations.delete_functions, address, functions, watch)

    def dissolve(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> None:
        self._delete(self.operations.delete_service, address, functions, watch)

    def _delete(
        self,
        delete: Callable[[Work, DeploymentAddress, LiveFunctions], None],
        address: DeploymentAddress,
        functions: LiveFunctions,
        watch: CallContext,
    ) -> None:
        there = self._locate(address)
        with self._call(f"`{address.service}`", there, watch) as work:
            delete(work, there, functions)

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        there = self._locate(address)
        with self._call(f"function `{function}`", there) as work:
            if mark:
                return self.operations.find_by_mark(work, there, function, mark)
            return self.operations.find_active(work, there, function)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - the stored values name the resources
    ) -> Sequence[str]:
        with self._call(f"`{address.service}`", self._locate(address)) as work:
            return tuple(self.operations.find_missing(work, address))

    def changed_sources(self, address: DeploymentAddress) -> Sequence[str]:
        with self._call(f"`{address.service}`", self._locate(address)) as work:
            return tuple(self.operations.find_changed_sources(work, address))

    def identity(self, address: DeploymentAddress) -> str:
        """Fetch the identity with short waits, because a user waits for it."""
        hurried = replace(self.waiting, most=min(self.waiting.most, _HURRIED))
        with self._call(f"`{address.provider_id}`", address, waiting=hurried) as work:
            return self.operations.fetch_identity(work)


class VersionedDeployer(GuardedDeployer[Work], frozen=True):
    """The base class of deployers whose provider keeps versions, each with its environment."""

    def find_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Map each function to the version made with its mark. Deleted versions are omitted."""
        rows = {name: self.find(address, name, mark) for name, mark in marks.items()}
        return {name: one.resource_id for name, one in rows.items() if one is not None}


class RegionalDeployer(VersionedDeployer[Work], Generic[Work, Place], frozen=True, kw_only=True):
    """The base class of deployers whose services each belong to one account and region, and whose
    functions have separate endpoints. `place` comes from the environment."""

    place: Place
    # The place in a resource ID, if it names one.
    read_place: Callable[[str], Place | None]
    # The settings of the place, as in a hint.
    place_settings: str

    def _choose_place(self, region: str) -> Place:
        return replace(self.place, region=region or self.place.region)

    def _list_places(self, record: Record | None) -> Iterator[Place]:
        places = (self.read_place(one.resource_id) for one in record.functions) if record else ()
        return (one for one in places if one is not None)

    def _locate(self, address: DeploymentAddress) -> DeploymentAddress:
        there = next(self._list_places(address.previous), None)
        return address if there is None else replace(address, region=there.region)

    def elsewhere(self, record: Record) -> Problem | None:
        """Compare accounts only: the region can come from the config, and a later call checks
        it."""
        return self._compare_places(record, self.place, is_region_known=False)

    def find_region_problem(self, address: DeploymentAddress) -> Problem | None:
        if address.previous is None:
            return None
        here = self._choose_place(address.region)
        return self._compare_places(address.previous, here, is_region_known=True)

    def _compare_places(
        self, record: Record, here: Place, *, is_region_known: bool
    ) -> Problem | None:
        for there in self._list_places(record):
            if there.differs_from(here, is_region_known=is_region_known):
                hint = (
                    f"set {self.place_settings} to the old values, or run `fabric remove` with "
                    "them before you deploy elsewhere"
                )
                return other_place_problem(record, there.title, f"not {here.title}", hint)
        return None

    def _find_conflict(self, address: DeploymentAddress) -> Problem | None:
        return self.find_region_problem(address)

    def public(self, functions: Sequence[FunctionDraft]) -> Sequence[str]:
        return list_public_functions(functions)
