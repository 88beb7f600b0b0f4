"""The interface of deployers: orders, results and protocols, all plain values."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from fabric.model.catalog import DeployUnit
from fabric.model.problems import Place, Problem
from fabric.model.records.record import Deployment, Record
from fabric.model.secrets.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs


class ImageArtifact(Struct, frozen=True, kw_only=True):
    """The image of a function, with its own blobs by digest. The layers of the base are in the
    repository of `base`, which is pinned by digest."""

    digest: str = ""
    manifest: bytes = b""
    contents: Mapping[str, Callable[[], bytes]] = {}
    base: str = ""
    # Where an earlier deploy pushed it, with its digest. Then the other fields can be empty.
    pushed: str = ""


class Artifact(Struct, frozen=True):
    """A function's archive on disk."""

    path: Path
    sha256: str
    size: int
    # The entry point inside the archive.
    handler: str
    runtime: str
    changed: bool = True
    # For functions that are deployed as images.
    image: ImageArtifact | None = None


class FunctionOrder(Struct, frozen=True):
    """The desired configuration of one function.

    With `only_version` no other version will do, because only the provider knows its environment
    values.
    """

    name: str
    artifact: Artifact
    settings: Pairs = ()
    # JSON texts that use the config's names.
    triggers: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    env: Secret[Pairs] = NO_PAIRS
    tags: Pairs = ()
    reserved_concurrency: int | None = None
    provisioned_concurrency: int | None = None
    # A fingerprint of the whole order: a version with this mark matches the order.
    mark: str = ""
    # Lists the variables whose values belong in the provider's secret store.
    secret: frozenset[str] = frozenset()
    # The provider's version to restore in a rollback.
    version: str = ""
    only_version: bool = False
    # Set if the old version has other tags: the mark it was made with.
    mark_of_then: str = ""
    # Whether values of it were not known when the plan was checked.
    has_late_values: bool = False

    @property
    def secret_values(self) -> tuple[str, ...]:
        return tuple(value for name, value in self.env.reveal() if name in self.secret)


class LayerOrder(Struct, frozen=True):
    """A version of a layer to publish. A version with the same mark matches the order."""

    name: str
    archive: Path
    sha256: str
    mark: str
    description: str = ""
    license: str = ""
    runtimes: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()


class StackRules(Struct, frozen=True):
    """The rules of a stack: logical ids of resources that a deploy can replace or delete, and
    whether it takes over an existing stack."""

    allow_replace: frozenset[str] = frozenset()
    adopt: bool = False
    protect: bool = False


class StackOrder(Struct, frozen=True, kw_only=True):
    """A stack to deploy. A change set with the same token belongs to the order."""

    name: str
    template: str
    token: str
    # The names of the outputs that the template has without its macros.
    outputs: tuple[str, ...] = ()
    parameters: Secret[Pairs] = NO_PAIRS
    tags: Pairs = ()
    capabilities: tuple[str, ...] = ()
    role_arn: str = ""
    # Parameters whose values at the provider stay as they are.
    kept_parameters: tuple[str, ...] = ()
    is_express: bool = False
    notifications: tuple[str, ...] = ()
    # JSON of existing resources to import: logical ids with the properties that identify them.
    imports: str = ""
    # The places of the resources by their ids, and that of the template without one.
    places: Mapping[str, Place] = {}
    rules: StackRules = StackRules()

    def find_place(self, resource: str) -> Place | None:
        return self.places.get(resource) or self.places.get("")


class DeployedStack(Struct, frozen=True):
    """A stack at the provider: its id and its outputs."""

    address: str
    outputs: Pairs = ()


class WorkflowOrder(Struct, frozen=True, kw_only=True):
    """A state machine to deploy. A version with the same mark belongs to the order."""

    name: str
    # JSON in the Amazon States Language, with placeholders for ARNs of the service.
    definition: str
    settings: Pairs = ()
    mark: str = ""
    # The deployed version, if only permissions or triggers can differ from it.
    version: str = ""


class DeployedWorkflow(Struct, frozen=True):
    """The ARN of a state machine, and that of its version."""

    address: str
    version: str


class WorkflowDraft(Struct, frozen=True):
    """A state machine of the config, before any call."""

    name: str
    settings: Pairs = ()
    triggers: tuple[str, ...] = ()


class WorkflowAnswer(Struct, frozen=True):
    """An execution of a state machine. `output` is JSON. Without a status it still runs."""

    execution: str
    status: str = ""
    output: str = ""
    error: str = ""
    cause: str = ""


class FunctionDraft(Struct, frozen=True):
    """A function of the config before the build."""

    name: str
    settings: Pairs = ()
    triggers: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    # The names of its environment variables.
    variables: tuple[str, ...] = ()
    provisioned_concurrency: int | None = None
    tags: Pairs = ()
    # Holds the non-secret values that are known already.
    known: Secret[Pairs] = NO_PAIRS
    # Names the layers of the project, which have no address yet.
    own_layers: tuple[str, ...] = ()


class Unsupported(Struct, frozen=True):
    """A part of a draft that a deployer does not support. Without a function, `keys` is the config
    path of a setting of the whole service."""

    function: str
    problem: Problem
    # The number of the trigger, if one is meant.
    trigger: int | None = None
    keys: tuple[str, ...] = ()


class ResourceAddress(Struct, frozen=True):
    name: str
    type: str
    env_var: str
    address: Secret[str]


class ServiceSupplies(Struct, frozen=True):
    """Resources, workflows and secrets of the functions of a service."""

    resources: tuple[ResourceAddress, ...] = ()
    # Pairs a name with the JSON text of its steps.
    workflows: Pairs = ()
    # Pairs a variable with a reference, never with a value.
    secret_refs: Pairs = ()


class DeploymentAddress(Struct, frozen=True):
    """The identity of one deployment, as every call on a service needs it.

    If it contains `RELEASE_UNCERTAIN`, the deployed state might differ: read it from the provider.
    """

    service: str
    stage: str
    label: str
    provider_id: str
    region: str = ""
    deployment_id: str = ""
    # The JSON text of the provider's own section of the config.
    extension: str = "{}"
    supplies: ServiceSupplies = ServiceSupplies()
    # The state before the call, with the values kept by the last release.
    previous: Record | None = None
    # The names at the provider that the config sets, by function.
    function_names: Pairs = ()
    # The id of the earlier deployment that the call restores.
    restores: str = ""


class LiveFunction(Struct, frozen=True):
    """One deployed function. `tags` and `reserved_concurrency` can belong to the function instead
    of a version; a release sets those."""

    name: str
    resource_name: str
    # The id of its immutable version, if the provider has versions.
    resource_id: str
    endpoint: str = ""
    artifact_sha256: str = ""
    mark: str = ""
    # Come from the order that made it.
    triggers: tuple[str, ...] = ()
    tags: Pairs = ()
    reserved_concurrency: int | None = None
    # The recorded settings.
    settings: Pairs = ()
    # The pushed image, with its digest.
    image: str = ""


LiveFunctions: TypeAlias = Sequence[LiveFunction]


class Deployed(Struct, frozen=True):
    """The result of a deploy."""

    functions: tuple[LiveFunction, ...]
    # The additional outputs of the whole unit.
    outputs: Pairs = ()


class Released(Struct, frozen=True):
    """The result of a release."""

    endpoint: str
    # Visible to other services.
    outputs: Pairs = ()
    # For the next call on this service only. It is stored in state, but never shown, hashed or
    # rolled back.
    kept: Pairs = ()


def _ignore_line(_text: str) -> None:
    pass


def _never_stop() -> bool:
    return False


class CallContext(Struct, frozen=True):
    """The observer of a running call: `hear` receives each progress line immediately. Once
    `is_to_end` returns true, the call should stop."""

    hear: Callable[[str], None] = _ignore_line
    is_to_end: Callable[[], bool] = _never_stop


NO_CONTEXT = CallContext()


class FunctionAnswer(Struct, frozen=True):
    """The response of a function as text, with its logs."""

    response: str
    logs: str = ""
    ms: int = 0
    # The error if there is no response.
    failure: str = ""


@runtime_checkable
class FunctionCaller(Protocol):
    """A deployer that can invoke its functions, also those without an address."""

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        """Invoke the deployed version and wait for its response."""


class AdoptionPart(Struct, frozen=True):
    """One resource of an adoption. `action` is take, keep, create or manual."""

    action: str
    kind: str
    name: str
    function: str = ""
    reason: str = ""


class EventLink(Struct, frozen=True):
    """An event source that calls a function without its alias. `place` is the bus of a rule."""

    kind: str
    id: str
    place: str = ""


class AdoptableFunction(Struct, frozen=True, kw_only=True):
    """A function that another tool deployed, as it is now."""

    live: LiveFunction
    # The settings that differ from the config, with their names there.
    differing: Pairs = ()
    environment: Secret[Pairs] = NO_PAIRS
    handler: str = ""
    # The event sources that an adoption moves.
    links: tuple[EventLink, ...] = ()
    # Changes with each change of the function.
    revision: str = ""


class AdoptionSurvey(Struct, frozen=True, kw_only=True):
    """The resources that a service has at the provider, before an adoption."""

    functions: tuple[AdoptableFunction, ...] = ()
    parts: tuple[AdoptionPart, ...] = ()
    # The other tool's stacks, and what they would delete with them, by logical ID.
    stacks: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()
    # The steps that protect these resources.
    steps: tuple[str, ...] = ()


class AdoptedFunction(Struct, frozen=True):
    """An adopted function, values for the next release, and its archive."""

    live: LiveFunction
    kept: Pairs = ()
    # Empty if it cannot be downloaded.
    archive: bytes = b""


@runtime_checkable
class Adopter(Protocol):
    """A deployer that can take over functions of another tool while they serve traffic."""

    def survey(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft], stack: str
    ) -> AdoptionSurvey:
        """Read the functions and their event sources. Changes nothing."""

    def adopt(
        self,
        address: DeploymentAddress,
        function: AdoptableFunction,
        watch: CallContext = NO_CONTEXT,
    ) -> AdoptedFunction:
        """Take over one function. Its code and its settings stay as they are."""

    def let_go(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> Sequence[AdoptionPart]:
        """Undo the adoption of functions, and return what stays."""


@runtime_checkable
class OwnLocator(Protocol):
    """A deployer whose functions have addresses that depend only on their names and their place."""

    def locate_own(self, address: DeploymentAddress, names: Sequence[str]) -> Mapping[str, str]:
        """Map names such as `function:NAME.arn` and `workflow:NAME.name` to addresses, whether
        the functions and workflows exist or not."""


@runtime_checkable
class CodeHasher(Protocol):
    """A deployer whose provider computes the hashes of the archives that it runs."""

    def fetch_code_hash(self, address: DeploymentAddress, function: str) -> str:
        """Fetch the SHA-256 hash of the archive that receives traffic; empty if the function does
        not exist."""


@runtime_checkable
class RestoreChecker(Protocol):
    """A deployer with resources that a rollback cannot restore."""

    def find_restore_problem(
        self, address: DeploymentAddress, target: Deployment
    ) -> Problem | None:
        """Return the reason why a rollback to this deployment is not possible. Makes no API
        call."""


@runtime_checkable
class SettingKeeper(Protocol):
    """A deployer with resources that keep a setting after its change."""

    def find_kept_setting(self, address: DeploymentAddress) -> Problem | None:
        """Return the change that existing resources do not follow. Makes no API call."""


@runtime_checkable
class ApiComparer(Protocol):
    """A deployer that stores the settings of the API of a service."""

    def compare_api(self, address: DeploymentAddress) -> tuple[str, str] | None:
        """Return the JSON text of the settings of the last release and that of the current ones;
        None if unknown. Makes no API call."""


@runtime_checkable
class LayerPublisher(Protocol):
    """A deployer that can publish layers of the project."""

    def publish_layer(
        self, address: DeploymentAddress, order: LayerOrder, watch: CallContext = NO_CONTEXT
    ) -> str:
        """Return the address of a version with this mark, published now or by an earlier call."""

    def delete_layers(
        self, address: DeploymentAddress, layers: Sequence[str], watch: CallContext = NO_CONTEXT
    ) -> Sequence[str]:
        """Delete versions by their addresses, and return the deleted ones. A missing version
        counts as deleted. A rejected call is reported and can be repeated later."""


@runtime_checkable
class StackDeployer(Protocol):
    """A deployer that can deploy CloudFormation stacks of a service."""

    def deploy_stack(
        self, address: DeploymentAddress, order: StackOrder, watch: CallContext = NO_CONTEXT
    ) -> DeployedStack:
        """Create or update a stack, and wait until its resources are ready."""

    def delete_stack(
        self, address: DeploymentAddress, name: str, watch: CallContext = NO_CONTEXT
    ) -> None:
        """Delete a stack by its name or id. A missing stack is not an error."""


@runtime_checkable
class DataGuard(Protocol):
    """A deployer that refuses a change of a stack that would lose data."""

    def holds_data(self, resource_type: str) -> bool:
        """Return whether resources of a type have data that is lost with them."""


@runtime_checkable
class WorkflowDeployer(Protocol):
    """A deployer that can deploy state machines. A release moves their traffic."""

    def find_unfit_workflows(
        self, address: DeploymentAddress, workflows: Sequence[WorkflowDraft]
    ) -> Sequence[Unsupported]:
        """List unsupported settings without an API call."""

    def deploy_workflow(
        self, address: DeploymentAddress, order: WorkflowOrder, watch: CallContext = NO_CONTEXT
    ) -> DeployedWorkflow:
        """Create or update a state machine, and publish a version without traffic."""

    def delete_workflow(
        self, address: DeploymentAddress, name: str, watch: CallContext = NO_CONTEXT
    ) -> None:
        """Delete a state machine with its triggers and roles. A missing one is not an error."""


@runtime_checkable
class WorkflowCaller(Protocol):
    """A deployer that can start executions of its state machines."""

    def start_workflow(
        self, address: DeploymentAddress, name: str, event: bytes, *, wait: bool
    ) -> WorkflowAnswer:
        """Start the deployed version, and with `wait` return its result."""


@runtime_checkable
class Identified(Protocol):
    """A deployer that can fetch the identity of the credentials from its provider."""

    def identity(self, address: DeploymentAddress) -> str:
        """Fetch the identity of the credentials. Raises if they are invalid or cannot read
        functions."""


@runtime_checkable
class Prepared(Protocol):
    """A deployer whose first call loads large libraries."""

    def prepare(self, address: DeploymentAddress) -> None:
        """Load the libraries while other services still build. Makes no API call."""


@runtime_checkable
class VersionFinder(Protocol):
    """A deployer whose provider keeps function versions, each with its environment."""

    def find_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Map each function to the version made with its mark. Deleted versions are omitted."""


@runtime_checkable
class AccountBound(Protocol):
    """A deployer whose services each belong to one account, which the environment names."""

    def elsewhere(self, record: Record) -> Problem | None:
        """Return a problem if this record belongs to another account. Makes no API call and runs
        before the first change."""


@runtime_checkable
class ServiceInspector(Protocol):
    """A deployer that can check the resources of a service other than its functions."""

    def missing(
        self, address: DeploymentAddress, functions: Sequence[LiveFunction]
    ) -> Sequence[str]:
        """List the resources that no longer exist, each as a noun with its name."""


@runtime_checkable
class SourceInspector(Protocol):
    """A deployer that can compare the event sources of functions with the last release."""

    def changed_sources(self, address: DeploymentAddress) -> Sequence[str]:
        """List the event sources with other settings, each as a sentence with its name."""


class Deployer(Protocol):
    """One provider in one mode. Thread-safe; raises a FabricError if the provider rejects a call.

    Every call is idempotent. A deploy prepares versions without traffic, as far as the provider
    allows; the release switches traffic to them.
    """

    @property
    def unit(self) -> DeployUnit:
        """The unit that one `deploy` replaces: a function or the whole service."""

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        """List unsupported settings without an API call. Runs during planning and again before the
        first change."""

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        """Deploy these functions. With unit FUNCTION there is always exactly one."""

    def release(
        self,
        address: DeploymentAddress,
        functions: LiveFunctions,
        given: Pairs,
        watch: CallContext = NO_CONTEXT,
    ) -> Released:
        """Release the service as a whole. `given` are the outputs of this unit's deploys."""

    def destroy(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> None:
        """Delete single functions, with unit FUNCTION. A missing function is not an error."""

    def dissolve(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> None:
        """Delete the service: its own resources, and these functions if they still exist."""

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        """Return the version that receives traffic, or with a mark, the version made with it.

        Returns None if there is none, or if this mode has no provider to query.
        """


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
