"""The resolved config as values: tuples and enums, no dicts, one class per trigger kind."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

# Named again, so that a reader of configs finds all of their words here.
from fabric.model.names import TriggerKind as TriggerKind  # noqa: PLC0414
from fabric.model.problems import Place, Problem

Pairs: TypeAlias = tuple[tuple[str, str], ...]


class BackendKind(StrEnum):
    LOCAL = "local"
    SQL = "sql"
    OBJSTORE1 = "objstore1"
    OBJSTORE2 = "objstore2"
    OBJSTORE3 = "objstore3"


@dataclass(frozen=True, slots=True)
class HttpTrigger:
    method: str
    path: str
    cors: str = ""
    authorizer: str = ""


@dataclass(frozen=True, slots=True)
class CronTrigger:
    schedule: str
    timezone: str = ""


@dataclass(frozen=True, slots=True)
class QueueTrigger:
    queue: str
    batch_size: int = 10
    window_seconds: int = 0
    response_type: str = ""
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class StorageTrigger:
    bucket: str
    events: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""
    existing_bucket: bool = False


@dataclass(frozen=True, slots=True)
class EventbusTrigger:
    """`pattern` is canonical JSON text; empty when the config has none (found at plan)."""

    pattern: str = ""
    bus: str = "default"


@dataclass(frozen=True, slots=True)
class PubsubTrigger:
    topic: str = ""
    subscription: str = ""


@dataclass(frozen=True, slots=True)
class LogstreamTrigger:
    topic: str = ""
    brokers: tuple[str, ...] = ()
    group_id: str = ""
    batch_size: int = 0
    starting_position: str = ""


@dataclass(frozen=True, slots=True)
class AmqpTrigger:
    queue: str = ""
    url: str = ""
    exchange: str = ""
    routing_key: str = ""
    virtual_host: str = ""
    batch_size: int = 0


Trigger: TypeAlias = (
    HttpTrigger
    | CronTrigger
    | QueueTrigger
    | StorageTrigger
    | EventbusTrigger
    | PubsubTrigger
    | LogstreamTrigger
    | AmqpTrigger
)


@dataclass(frozen=True, slots=True)
class Provider:
    """`label` is the key in `providerOverrides` when one was chosen, else the id."""

    id: str
    label: str
    runtime: str
    region: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    entry: str
    triggers: tuple[Trigger, ...] = ()
    env: Pairs = ()
    layers: tuple[str, ...] = ()
    runtime: str = ""
    memory: int = 0
    timeout: int = 0
    architecture: str = ""
    tags: Pairs = ()
    include: tuple[str, ...] = ()
    reserved_concurrency: int | None = None
    provisioned_concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    name: str
    type: str
    env_var: str
    connection_env: str = ""


@dataclass(frozen=True, slots=True)
class Addon:
    """`options` is canonical JSON; `secrets` pairs each variable with a reference, not a value."""

    name: str
    version: str = ""
    options: str = "{}"
    secrets: Pairs = ()


@dataclass(frozen=True, slots=True)
class Workflow:
    """`steps` is canonical JSON of the list as configured."""

    name: str
    steps: str = "[]"


@dataclass(frozen=True, slots=True)
class ProviderOverride:
    """A further place to deploy to: what `--provider <label>` chooses."""

    label: str
    name: str
    runtime: str = ""
    region: str = ""


@dataclass(frozen=True, slots=True)
class Targets:
    """`fabric:` the labels that are deployed together, and how requests are spread."""

    labels: tuple[str, ...] = ()
    routing: str = ""
    health_check_enabled: bool = False
    health_check_url: str = ""


NO_TARGETS = Targets()


@dataclass(frozen=True, slots=True)
class BackendConfig:
    """`others` are what the section says of further kinds: where state may move to, or be from."""

    kind: BackendKind = BackendKind.LOCAL
    settings: Pairs = ()
    others: tuple[tuple[BackendKind, Pairs], ...] = ()

    def settings_of(self, kind: BackendKind) -> Pairs:
        return self.settings if kind is self.kind else dict(self.others).get(kind, ())


@dataclass(frozen=True, slots=True)
class BuildSettings:
    command: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    minify: bool = False
    sourcemap: bool = False


@dataclass(frozen=True, slots=True)
class DeploySettings:
    rollback_on_failure: bool | None = None
    health_check_enabled: bool = False
    health_check_url: str = ""


@dataclass(frozen=True, slots=True)
class ConfigPlace:
    """Where a setting stands, with the lines around it, for a check that comes after the load."""

    pointer: str
    where: Place
    frame: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """One service, resolved for one stage.

    Function `env` and `layers` are final here: service env, resources and addons are laid in,
    layer names are resolved. `extensions` and `resolved` are canonical JSON text; `resolved` is the
    whole document with bindings filled and secrets redacted. `secret_names` are the variables
    whose values must never be shown. `bound_names` are the variables that bindings looked at.
    `secret_values` are what bindings to secrets gave, for hiding it: never stored, never shown.
    `labels` are what `--provider` finds in the config, whatever was chosen.
    `spots` are the places that a plan may have something to say of.
    """

    service: str
    stage: str
    file: str
    provider: Provider
    functions: tuple[Function, ...]
    backend: BackendConfig
    build: BuildSettings
    deploy: DeploySettings
    resources: tuple[Resource, ...] = ()
    addons: tuple[Addon, ...] = ()
    workflows: tuple[Workflow, ...] = ()
    overrides: tuple[ProviderOverride, ...] = ()
    labels: tuple[str, ...] = ()
    targets: Targets = NO_TARGETS
    extensions: str = "{}"
    resolved: str = "{}"
    secret_names: frozenset[str] = frozenset()
    bound_names: frozenset[str] = frozenset()
    secret_values: frozenset[str] = field(default=frozenset(), repr=False)
    warnings: tuple[Problem, ...] = ()
    spots: tuple[ConfigPlace, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ComposeService:
    """One entry of a compose file: `name` is what dependencies and selections use."""

    name: str
    config: str
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compose:
    file: str
    services: tuple[ComposeService, ...]
    include: tuple[str, ...] = ()
