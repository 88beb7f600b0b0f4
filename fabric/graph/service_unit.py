"""A service as the compiler takes it."""

from msgspec import Struct

from fabric.config.values import Config
from fabric.model.task import Pairs


class FunctionPackages(Struct, frozen=True):
    """The packages of one Python function: the lock `text` and its `folder` in the workspace.

    `without` are those that the provider's runtime has, `names` all others.
    """

    function: str
    folder: str
    text: str
    without: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class ServiceNeeds(Struct, frozen=True):
    """`upstream` are its direct and indirect dependencies in this run, `outside` the releases of
    others."""

    upstream: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    # Pairs variables with releases.
    outputs: Pairs = ()
    # All, also those without outputs for it.
    services: tuple[str, ...] = ()


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
