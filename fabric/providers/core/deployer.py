"""The shared base of built-in deployers: it attributes errors to a function or service and hides
secrets in all messages."""

import contextlib
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct, StructMeta
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.task import Pairs
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    Deployed,
    DeploymentAddress,
    FunctionOrder,
    LiveFunction,
    Released,
)
from fabric.providers.core.errors import Quoted, mark_untouched, redact_progress
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.retry import WAITING, RetryPolicy

Work = TypeVar("Work")
# Somebody sits and waits for an answer to who we are.
_HURRIED = 3.0


class Operations(Struct, Generic[Work], frozen=True, kw_only=True):
    """The provider's implementation of each deployer call, as separate functions."""

    deploy: Callable[[Work, DeploymentAddress, Sequence[FunctionOrder]], Iterable[LiveFunction]]
    release: Callable[[Work, DeploymentAddress, Sequence[LiveFunction]], Released]
    delete_functions: Callable[[Work, DeploymentAddress, Sequence[LiveFunction]], None]
    delete_service: Callable[[Work, DeploymentAddress, Sequence[LiveFunction]], None]
    find: Callable[[Work, DeploymentAddress, str, str], LiveFunction | None]


def deploy_one_by_one(
    deploy: Callable[[Work, DeploymentAddress, FunctionOrder], LiveFunction],
) -> Callable[[Work, DeploymentAddress, Sequence[FunctionOrder]], Iterable[LiveFunction]]:
    return lambda work, address, orders: (deploy(work, address, one) for one in orders)


class _AbstractStruct(StructMeta, ABCMeta):
    """A metaclass for structs that cannot be instantiated while an abstract method is missing."""


class GuardedDeployer(Struct, Generic[Work], frozen=True, kw_only=True, metaclass=_AbstractStruct):
    """The base class of built-in deployers. `Work` is the provider's context of one call: its
    client and settings."""

    # Holds values that no message can show.
    hide: Redaction
    waiting: RetryPolicy = WAITING

    @property
    @abstractmethod
    def unit(self) -> DeployUnit: ...

    @property
    @abstractmethod
    def operations(self) -> Operations[Work]: ...

    @abstractmethod
    def _translate_errors(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        """Convert API errors inside the block to problems without secrets."""

    @abstractmethod
    def _open_client(self, address: DeploymentAddress, watch: CallContext, quoted: Quoted) -> Work:
        """Open the context of one call. Raises for a record of another account or region.

        `quoted` redacts provider messages; the watch receives only redacted ones.
        """

    def _refuse(self, orders: Sequence[FunctionOrder]) -> None:
        """Raise for orders that this provider does not support, without an API call. Variable
        values are first known here."""

    @contextlib.contextmanager
    def _call(
        self,
        whose: str,
        address: DeploymentAddress,
        watch: CallContext = NO_CONTEXT,
        orders: Sequence[FunctionOrder] = (),
    ) -> Iterator[Work]:
        with self._translate_errors(whose, orders) as hide:
            with mark_untouched():
                self._refuse(orders)
                opened = self._open_client(address, redact_progress(watch, hide.quote), hide.quote)
            yield opened

    def _shorten_waiting(self) -> RetryPolicy:
        return replace(self.waiting, most=min(self.waiting.most, _HURRIED))

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
        functions: Sequence[LiveFunction],
        given: Pairs,  # noqa: ARG002 - what fabric deploys itself gives nothing besides
        watch: CallContext = NO_CONTEXT,
    ) -> Released:
        with self._call(f"`{address.service}`", address, watch) as work:
            return self.operations.release(work, address, functions)

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        with self._call(f"`{address.service}`", address, watch) as work:
            self.operations.delete_functions(work, address, functions)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        with self._call(f"`{address.service}`", address, watch) as work:
            self.operations.delete_service(work, address, functions)

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        with self._call(f"function `{function}`", address) as work:
            return self.operations.find(work, address, function, mark)


Find: TypeAlias = Callable[[DeploymentAddress, str, str], LiveFunction | None]


def find_versions(
    find: Find, address: DeploymentAddress, marks: Mapping[str, str]
) -> dict[str, str]:
    rows = {name: find(address, name, mark) for name, mark in marks.items()}
    return {name: one.resource_id for name, one in rows.items() if one is not None}
