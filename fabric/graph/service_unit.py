"""A service as the compiler takes it."""

import re

from msgspec import Struct

from fabric.config.values import Config, Function
from fabric.model.builds.python_target import PythonTarget
from fabric.model.catalog import OLDEST_GLIBC, find_glibc_version, find_provider_facts
from fabric.model.task import Pairs
from fabric.model.task_inputs import GitWheelInputs, WheelInputs


def find_python_target(config: Config, function: Function) -> PythonTarget | None:
    """Return the target of a Python function; None for other runtimes."""
    runtime = function.runtime or config.provider.runtime
    if not runtime.startswith("python"):
        return None
    version = re.sub(r"^python", "", runtime) or "3.11"
    platform = "aarch64" if function.capacity.architecture == "arm64" else "x86_64"
    # The libraries of a custom base image are unknown.
    is_known = not function.build.package.base
    facts = find_provider_facts(config.provider.id) if is_known else None
    glibc = find_glibc_version(facts, version) if facts else OLDEST_GLIBC
    return PythonTarget(version, platform, glibc)


class FunctionPackages(Struct, frozen=True, kw_only=True):
    """The packages of one Python function: the lock `text` and its `folder` in the workspace.

    `without` are those that the provider's runtime has.
    """

    function: str
    folder: str
    text: str
    without: tuple[str, ...] = ()
    # Packages in the checkout: name and directory.
    local: Pairs = ()
    # The lines of `text` that are for its target.
    selected: str = ""
    # Its wheels, if the lock names version and hash of each, and those that are built from git.
    wheels: tuple[WheelInputs | GitWheelInputs, ...] = ()


class ServiceNeeds(Struct, frozen=True):
    """`upstream` are its direct and indirect dependencies in this run, `outside` the releases of
    others."""

    upstream: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    # Pairs variables with releases.
    outputs: Pairs = ()
    # All, also those without outputs for it.
    services: tuple[str, ...] = ()
    # Pairs names in the compose file with releases.
    names: Pairs = ()


class ServiceUnit(Struct, frozen=True):
    """A service for the compiler, beside its config. With `leads_name` DNS is updated whatever the
    config contains."""

    config: Config
    root: str
    mode: str = "simulated"
    packages: tuple[FunctionPackages, ...] = ()
    needs: ServiceNeeds = ServiceNeeds()
    # The account and API endpoint.
    account: Pairs = ()
    # The target of its builds, if a run has several.
    apart: str = ""
    leads_name: bool = False

    @property
    def service(self) -> str:
        return self.config.service

    def packages_of(self, function: str) -> FunctionPackages | None:
        return next((one for one in self.packages if one.function == function), None)
