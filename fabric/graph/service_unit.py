"""A service as the compiler takes it."""

from msgspec import Struct

from fabric.config.values import Config
from fabric.model.task import Pairs


class FunctionPackages(Struct, frozen=True):
    """The packages of one Python function: the `text` that lists them, and its `folder` in the
    workspace. `without` are those it names that the provider brings, `names` all the others."""

    function: str
    folder: str
    text: str
    without: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class ServiceUnit(Struct, frozen=True):
    """A service as it lies in the workspace: what the compiler must know beside its config.

    `upstream` are the services of this run that it waits for, direct and indirect; `outside` the
    releases of those that are no part of it; `depends_on` all of them, also those whose outputs it
    is not given. `upstream_outputs` pairs variables with the release that gives their value.
    `account` says which account, and which address of the provider's API, the surroundings mean.
    `apart` is the target that its builds are told apart by, where a run has several of a service;
    with `leads_name` the router's name is led to them, whatever its config says of it.
    """

    config: Config
    root: str
    mode: str = "simulated"
    packages: tuple[FunctionPackages, ...] = ()
    upstream: tuple[str, ...] = ()
    account: Pairs = ()
    outside: tuple[str, ...] = ()
    upstream_outputs: Pairs = ()
    depends_on: tuple[str, ...] = ()
    apart: str = ""
    leads_name: bool = False

    @property
    def service(self) -> str:
        return self.config.service

    def packages_of(self, function: str) -> FunctionPackages | None:
        return next((one for one in self.packages if one.function == function), None)
