"""Optional facts of deployers about the location and addresses of services, known without API
calls."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from fabric.model.problems import Problem
from fabric.providers.contract import DeploymentAddress, FunctionDraft


@runtime_checkable
class PerFunctionEndpoints(Protocol):
    """A deployer that gives each function a separate address. A service has one only if exactly one
    function is public."""

    def public(self, functions: Sequence[FunctionDraft]) -> Sequence[str]:
        """Return the names of the functions that get an address."""


@runtime_checkable
class SingleServiceTarget(Protocol):
    """A deployer that gives each service a separate place, which the environment names."""

    @property
    def sole_place(self) -> str:
        """Return the place as a noun with its name, or an empty text if it is not set."""


@runtime_checkable
class RegionBound(Protocol):
    """A deployer whose services each belong to one region, which the config can name."""

    def find_region_problem(self, address: DeploymentAddress) -> Problem | None:
        """Return a problem if `previous` is deployed in another region than the configured one.

        Makes no API call and runs during planning. Deployed resources can still be removed.
        """
