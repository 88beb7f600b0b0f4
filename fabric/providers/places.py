"""What a deployer may know of where its services lie, and are met: told without a call."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from fabric.model.problems import Problem
from fabric.providers.contract import DeploymentAddress, FunctionDraft


@runtime_checkable
class ApartAddresses(Protocol):
    """A deployer at which each function has an address of its own: a service has one only where
    one of its functions alone is public."""

    def public(self, functions: Sequence[FunctionDraft]) -> Sequence[str]:
        """The names of those that will have one."""


@runtime_checkable
class SoleTenant(Protocol):
    """A deployer whose services each have a place of their own, which the environment names."""

    @property
    def sole_place(self) -> str:
        """It, as a noun with its name; empty where nothing names one."""


@runtime_checkable
class RegionBound(Protocol):
    """A deployer whose services lie in one region each, which a config may name."""

    def misplaced(self, address: DeploymentAddress) -> Problem | None:
        """Why nothing of `previous` can be changed: it lies in another region than the one that is
        meant now. Told without a call, when it is planned. What is there can still be removed."""
