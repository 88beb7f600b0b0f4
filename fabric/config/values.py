"""The resolved config as values: tuples and enums, no dicts, one class per trigger kind."""

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

# Named again, so that a reader of configs finds all of their words here.
from fabric.model.backends import BackendKind
from fabric.model.builds.python_target import MAIN_ONLY, OptionalDependencies
from fabric.model.lookups import NamedLookup
from fabric.model.names import StepEvent
from fabric.model.names import TriggerKind as TriggerKind  # noqa: PLC0414
from fabric.model.problems import Place, Problem
from fabric.model.secrets.secret import NO_SECRETS, Secret

Pairs: TypeAlias = tuple[tuple[str, str], ...]


class HttpTrigger(Struct, frozen=True):
    method: str
    path: str
    cors: str = ""
    authorizer: str = ""
    options: str = ""


class CronTrigger(Struct, frozen=True):
    schedule: str
    timezone: str = ""
    # Canonical JSON of the keys that only some providers support, as in other triggers.
    options: str = ""


class QueueTrigger(Struct, frozen=True):
    queue: str
    batch_size: int = 10
    window_seconds: int = 0
    response_type: str = ""
    enabled: bool = True
    options: str = ""


class StorageTrigger(Struct, frozen=True):
    bucket: str
    events: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""
    existing_bucket: bool = False
    options: str = ""


class EventbusTrigger(Struct, frozen=True):
    """`pattern` is canonical JSON; empty if missing, which a plan reports."""

    pattern: str = ""
    bus: str = "default"
    options: str = ""


class PubsubTrigger(Struct, frozen=True):
    topic: str = ""
    subscription: str = ""
    options: str = ""


class LogstreamTrigger(Struct, frozen=True):
    topic: str = ""
    brokers: tuple[str, ...] = ()
    group_id: str = ""
    batch_size: int = 0
    starting_position: str = ""
    stream: str = ""
    options: str = ""


class AmqpTrigger(Struct, frozen=True):
    queue: str = ""
    url: str = ""
    exchange: str = ""
    routing_key: str = ""
    virtual_host: str = ""
    batch_size: int = 0
    options: str = ""


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


class Provider(Struct, frozen=True):
    """`label` is the chosen key in `providerOverrides`, otherwise the id. `extensions` is canonical
    JSON."""

    id: str
    label: str
    runtime: str
    region: str = ""
    extensions: str = "{}"


class BundleSettings(Struct, frozen=True):
    minify: bool = False
    sourcemap: bool = False
    external: tuple[str, ...] = ()
    format: str = ""
    target: str = ""
    define: Pairs = ()
    loader: Pairs = ()
    tsconfig: str = ""
    keep_names: bool = False
    banner: str = ""


class CustomBuild(Struct, frozen=True):
    """How a build command runs and what its result depends on. A preset has defaults for it."""

    preset: str = ""
    # Globs of files that it reads.
    inputs: tuple[str, ...] = ()
    # Whether it lists its inputs; None if not set.
    depfile: bool | None = None
    # Globs of files that it must write.
    outputs: tuple[str, ...] = ()
    # Maps variables to directories that are kept between builds.
    caches: Pairs = ()
    # Commands that print the versions of its tools.
    tools: tuple[tuple[str, ...], ...] = ()


NO_CUSTOM_BUILD = CustomBuild()


class PackageSettings(Struct, frozen=True):
    """The form of a packaged function. Without `base` it is the default of the provider. An
    `existing` image is deployed without changes, and `base` is its address."""

    type: str = "zip"
    base: str = ""
    existing: bool = False

    @property
    def is_image(self) -> bool:
        return self.type == "image"


class BuildSettings(Struct, frozen=True):
    """Build settings. A `portable` command can run on another machine."""

    command: tuple[str, ...] = ()
    portable: bool = False
    ignore: tuple[str, ...] = ()
    bundle: BundleSettings = BundleSettings()
    # Which packages of a Python project count beside its main ones.
    optional: OptionalDependencies = MAIN_ONLY
    package: PackageSettings = PackageSettings()
    custom: CustomBuild = NO_CUSTOM_BUILD

    @property
    def is_custom(self) -> bool:
        """Return whether a command or a preset replaces the built-in build."""
        return bool(self.command or self.custom.preset)


DEFAULT_BUILD = BuildSettings()


class Capacity(Struct, frozen=True):
    """The capacity of a function. 0 and "" mean the default of the provider."""

    memory: int = 0
    timeout: int = 0
    architecture: str = ""
    reserved_concurrency: int | None = None
    provisioned_concurrency: int | None = None


class Check(Struct, frozen=True, kw_only=True):
    """An event of a function with the expected response. `event` and `expect` are canonical JSON;
    with `file`, the event is in a file of the service directory."""

    name: str
    event: str = "null"
    file: str = ""
    expect: str = "{}"


class Function(Struct, frozen=True):
    """One function. `settings` are those that its provider may not support, as plain text or
    canonical JSON."""

    name: str
    # Empty for functions with an existing image.
    entry: str = ""
    triggers: tuple[Trigger, ...] = ()
    env: Pairs = ()
    layers: tuple[str, ...] = ()
    runtime: str = ""
    capacity: Capacity = Capacity()
    tags: Pairs = ()
    include: tuple[str, ...] = ()
    build: BuildSettings = DEFAULT_BUILD
    settings: Pairs = ()
    checks: tuple[Check, ...] = ()


class Resource(Struct, frozen=True):
    name: str
    type: str
    env_var: str
    connection_env: str = ""


class Addon(Struct, frozen=True):
    """`options` is canonical JSON. `secrets` pairs each variable with a reference, never a
    value."""

    name: str
    version: str = ""
    options: str = "{}"
    secrets: Pairs = ()


class Workflow(Struct, frozen=True):
    """`steps` is canonical JSON of the list as configured."""

    name: str
    steps: str = "[]"


class StateMachine(Struct, frozen=True, kw_only=True):
    """A workflow with a definition. `permissions` and `logs` are canonical JSON."""

    name: str
    # JSON in the Amazon States Language. `${Name}` of substitutions are not filled yet.
    definition: str = "{}"
    type: str = "standard"
    permissions: str = ""
    role: str = ""
    logs: str = ""
    tracing: str = ""
    substitutions: Pairs = ()
    triggers: tuple[Trigger, ...] = ()


class ProviderOverride(Struct, frozen=True):
    """A further deploy target, selected with `--provider <label>`."""

    label: str
    name: str
    runtime: str = ""
    region: str = ""
    has_backend: bool = False


class HealthCheck(Struct, frozen=True):
    enabled: bool = False
    url: str = ""


NO_HEALTH_CHECK = HealthCheck()


class Targets(Struct, frozen=True):
    """The labels that are deployed together, and how requests are spread. `choices` are the
    possible `--provider` values."""

    labels: tuple[str, ...] = ()
    routing: str = ""
    health_check: HealthCheck = NO_HEALTH_CHECK
    overrides: tuple[ProviderOverride, ...] = ()
    choices: tuple[str, ...] = ()


NO_TARGETS = Targets()


class BackendConfig(Struct, frozen=True):
    """`others` are the settings of further kinds, for state migrations."""

    kind: BackendKind = BackendKind.LOCAL
    settings: Pairs = ()
    others: tuple[tuple[BackendKind, Pairs], ...] = ()

    def settings_of(self, kind: BackendKind) -> Pairs:
        return self.settings if kind is self.kind else dict(self.others).get(kind, ())


class DeploySettings(Struct, frozen=True):
    """A protected stage requires confirmation."""

    rollback_on_failure: bool | None = None
    health_check: HealthCheck = NO_HEALTH_CHECK
    is_protected: bool = False


class ConfigPlace(Struct, frozen=True):
    """The place of a setting with surrounding lines, for checks after the load."""

    pointer: str
    where: Place
    frame: str = ""


class Step(Struct, frozen=True, kw_only=True):
    """A command of `build.before` or `hooks`."""

    name: str
    event: StepEvent
    command: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    # Of `build.ignore`: files that the command does not read.
    ignore: tuple[str, ...] = ()
    # In seconds.
    timeout: int = 600
    # A deploy hook that also runs in simulated deploys.
    simulated: bool = False


class LayerBuild(Struct, frozen=True):
    """A command that writes the files of a layer."""

    command: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    # In seconds.
    timeout: int = 600


class Layer(Struct, frozen=True, kw_only=True):
    """A layer of the project, from exactly one of `packages`, `path` and `build`."""

    name: str
    packages: tuple[str, ...] = ()
    path: str = ""
    build: LayerBuild | None = None
    runtimes: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    description: str = ""
    license: str = ""
    retain: bool = False


class TemplateResource(Struct, frozen=True):
    """A resource of a template. `text` is everything that determines it, with the names of the
    parameters in it."""

    id: str
    type: str
    text: str
    parameters: tuple[str, ...] = ()
    has_deletion_policy: bool = False
    # JSON of the properties that AWS changes only with a replacement. Empty for unknown types.
    fixed: str = ""
    line: int = 0
    column: int = 0


class Template(Struct, frozen=True):
    """A template of CloudFormation: its text, its resources and the names of its outputs and
    parameters."""

    text: str
    resources: tuple[TemplateResource, ...] = ()
    outputs: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    # The parameters without a default.
    required: tuple[str, ...] = ()
    # Whether a macro can add outputs.
    is_open: bool = False
    # Relative to the directory of the config; empty for an inline template.
    path: str = ""


class StackPolicy(Struct, frozen=True, kw_only=True):
    """The rules for the resources of a stack. Without `protect` the stage decides."""

    on_remove: str = "keep"
    protect: bool | None = None
    # Logical ids of resources that a deploy can replace or delete.
    allow_replace: tuple[str, ...] = ()
    adopt: bool = False


class Stack(Struct, frozen=True, kw_only=True):
    """A stack of the service, deployed before its functions or after its release."""

    phase: str
    name: str = ""
    template: Template = Template("")
    parameters: Pairs = ()
    tags: Pairs = ()
    capabilities: tuple[str, ...] = ()
    role_arn: str = ""
    mode: str = "standard"
    notifications: tuple[str, ...] = ()
    # JSON of the resources to import: a logical id to its identifying properties.
    imports: str = ""
    policy: StackPolicy = StackPolicy()


class Supplies(Struct, frozen=True):
    """The resources, addons and workflows of the functions, the commands of the service in the
    order of their events, the layers of the project, the stacks of the service, and its state
    machines, whose names are also in `workflows`."""

    resources: tuple[Resource, ...] = ()
    addons: tuple[Addon, ...] = ()
    workflows: tuple[Workflow, ...] = ()
    steps: tuple[Step, ...] = ()
    layers: tuple[Layer, ...] = ()
    stacks: tuple[Stack, ...] = ()
    machines: tuple[StateMachine, ...] = ()


class BindingUse(Struct, frozen=True):
    """The names and files that bindings read. With `asked_managers` a secret manager was called,
    whose values can change."""

    names: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    params: frozenset[str] = frozenset()
    references: tuple[NamedLookup, ...] = ()
    asked_managers: bool = False


class ConfigDocument(Struct, frozen=True):
    """Facts on the file. `resolved` is the whole redacted document as canonical JSON.

    `locations` are places for plan problems, `unplannable` are these problems.
    """

    file: str
    resolved: str = "{}"
    bindings: BindingUse = BindingUse()
    # Variables whose values must not be shown.
    secret_names: frozenset[str] = frozenset()
    # Used for redaction: never stored or shown.
    secret_values: Secret[frozenset[str]] = NO_SECRETS
    warnings: tuple[Problem, ...] = ()
    locations: tuple[ConfigPlace, ...] = ()
    unplannable: tuple[Problem, ...] = ()
    # Whether the config contains only the places of records, and no settings.
    is_reduced: bool = False


class Config(Struct, frozen=True):
    """One service, resolved for one stage.

    Function `env`, `layers` and `build` are final, with service env, resources and addons merged.
    A layer is an ARN, or the name of one of `supplies.layers`.
    """

    service: str
    stage: str
    document: ConfigDocument
    provider: Provider
    functions: tuple[Function, ...]
    backend: BackendConfig
    build: BuildSettings
    deploy: DeploySettings
    supplies: Supplies = Supplies()
    targets: Targets = NO_TARGETS

    @property
    def target_labels(self) -> tuple[str, ...]:
        """Return the targets to deploy together: the labels of `fabric`, otherwise all overrides,
        otherwise the only provider."""
        labels = self.targets.labels or tuple(one.label for one in self.targets.overrides)
        return tuple(dict.fromkeys(labels)) or (self.provider.label,)

    def with_warnings(self, warnings: Iterable[Problem]) -> "Config":
        all_warnings = (*self.document.warnings, *warnings)
        return replace(self, document=replace(self.document, warnings=all_warnings))


class ComposeService(Struct, frozen=True):
    """One entry of a compose file. Dependencies and selections use its `name`."""

    name: str
    config: str
    depends_on: tuple[str, ...] = ()


class Compose(Struct, frozen=True):
    file: str
    services: tuple[ComposeService, ...]
    include: tuple[str, ...] = ()
