"""The interface of provider packages: their functions, and the context of each call."""

import json
import threading
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, cast

from msgspec import Struct, ValidationError, convert, field

from fabric.model.catalog import ProviderFacts
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import NO_SECRETS, Secret
from fabric.providers.core.contract import Deployer
from fabric.providers.core.observing import Observer
from fabric.providers.core.redaction import Redaction, build_redaction
from fabric.system.process.bounded_process import Limits

if TYPE_CHECKING:
    from fabric.system.registries.credentials import RegistryLogin
    from fabric.system.registries.push import Registries


class CommandEnvironment(Struct, frozen=True):
    """The environment of custom commands.

    Documents too long for a variable stay in memory, or in a directory below `payloads` if memory
    files are unavailable.
    """

    cwd: Path
    env: Secret[Mapping[str, str]]
    # Values that must not be shown.
    hide: Secret[frozenset[str]] = NO_SECRETS
    payloads: Path | None = None
    limits: Limits = Limits()
    # The variables whose values come from a `.env` of the project.
    filed: frozenset[str] = frozenset()


class Closable(Protocol):
    def close(self) -> None: ...


Made = TypeVar("Made", bound=Closable)


class Connections:
    """A thread-safe pool of connections. The `key` identifies a connection."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._made: dict[Hashable, Closable] = {}

    def find_or_make(self, key: Hashable, make: Callable[[], Made]) -> Made:
        with self._guard:
            if key not in self._made:
                self._made[key] = make()
            return cast("Made", self._made[key])

    def close(self) -> None:
        with self._guard:
            for one in self._made.values():
                one.close()
            self._made.clear()


T = TypeVar("T")
Account = TypeVar("Account", bound=Hashable)


class ProviderContext(Struct, frozen=True, kw_only=True):
    """Everything that a deployer, an observer or a DNS backend is opened with."""

    provider_id: str
    # Variables, directory and the values that must not be shown.
    around: CommandEnvironment
    # The JSON text of the provider's own section of the config.
    extension: str = "{}"
    # Shared by all services of a run. The owner closes them.
    connections: Connections = field(default_factory=Connections)
    # Each function brings a role, so that the service needs none.
    has_roles: bool = False

    @property
    def env(self) -> Mapping[str, str]:
        return self.around.env.reveal()

    def build_redaction(self, *secrets: str) -> Redaction:
        """Build the redaction of the hidden values, and of these credentials as far as they are
        set."""
        return build_redaction((*self.around.hide.reveal(), *secrets), self.env.items())

    def connect(
        self,
        read_account: Callable[[Mapping[str, str]], Account],
        open_api: Callable[[Account], Made],
    ) -> Made:
        """Find or open the client of an account. Credentials are required only here: settings can
        be checked without them."""
        account = read_account(self.env)
        return self.connections.find_or_make((open_api, account), lambda: open_api(account))

    def open_registries(self, logins: "Mapping[str, RegistryLogin] | None" = None) -> "Registries":
        """Find or open the registries of images. `logins` belong to the provider."""
        from fabric.system.registries.push import open_registries  # only for images

        return self.connections.find_or_make(
            ("images", self.provider_id), lambda: open_registries(self.env, logins)
        )

    def read_settings(self, shape: type[T]) -> T:
        """Read the provider's own section of the config. Raises if it has another shape."""
        try:
            return convert(json.loads(self.extension), shape)
        except ValidationError as error:
            message = f"invalid `extensions.{self.provider_id}`: {error}"
            raise FabricError(Problem("config/type", message)) from error


OpenDeployer: TypeAlias = Callable[[ProviderContext], Deployer]
OpenObserver: TypeAlias = Callable[[ProviderContext], Observer]


# The versions of `Provider` and of the deployer contract that this fabric supports.
CONTRACTS = (1,)


class Provider(Struct, frozen=True, kw_only=True):
    """One provider. Each function opens its part without an API call; credentials are required only
    by the first call."""

    # The version that an installed package is written for.
    contract: int = CONTRACTS[0]
    # Only of an installed package: `fabric/model/catalog.py` has those of the others.
    facts: ProviderFacts | None = None
    # Real deploys without a custom command.
    open_deployer: OpenDeployer | None = None
    # Logs, metrics and traces without a custom command.
    open_observer: OpenObserver | None = None


def missing_role_problem(facts: ProviderFacts) -> Problem:
    message = f"real deploys to {facts.title} (`{facts.id}`) require an execution role"
    variable = facts.access.role_variable
    hint = f"set `{variable}`, `roleArn` below `extensions.{facts.id}`, or `permissions`"
    return Problem("credentials/role-missing", message, hint)
