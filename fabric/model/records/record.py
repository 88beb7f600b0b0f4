"""The deployed state: one record for each service, stage and provider, with its history."""

from enum import StrEnum

from msgspec import Struct

from fabric.model.secrets.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs


class Mode(StrEnum):
    """How a provider is used: simulated, through a custom command, or directly."""

    SIMULATED = "simulated"
    COMMAND = "command"
    REAL = "real"


class Lifecycle(StrEnum):
    DEPLOYING = "deploying"
    DEPLOYED = "deployed"
    FAILED = "failed"
    REMOVING = "removing"


class Operation(StrEnum):
    """The planned operation of a task at a provider, as in its intent."""

    DEPLOY = "deploy"
    REMOVE = "remove"
    RELEASE = "release"
    LAYER = "layer"
    STACK = "stack"
    WORKFLOW = "workflow"


class RecordRef(Struct, frozen=True, order=True):
    """The identity of a record."""

    service: str
    stage: str
    # A label, or the provider's id.
    provider: str

    @property
    def path(self) -> str:
        return f"{self.service}/{self.stage}/{self.provider}"

    @property
    def title(self) -> str:
        return f"`{self.service}` ({self.stage}, {self.provider})"


class FunctionRecord(Struct, frozen=True, rename="camel"):
    """One deployed function.

    `settings` are all other declared inputs, `upstream` the hashes of other tasks' outputs.
    """

    name: str
    key: str
    artifact_sha256: str
    resource_name: str = ""
    resource_id: str = ""
    endpoint: str = ""
    handler: str = ""
    # JSON texts with config names, without secrets.
    triggers: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    settings: Pairs = ()
    # Pairs each variable with a salted hash.
    environment: Pairs = ()
    environment_sha256: str = ""
    # The values, sealed with a key outside the record.
    sealed_values: str = ""
    upstream: Pairs = ()
    updated_at: str = ""
    # The pushed image with its digest; empty for functions from archives.
    image: str = ""
    # Late values of the triggers, layers and settings above, by their names in the config.
    late: Pairs = ()

    @property
    def was_made(self) -> bool:
        """Return whether the function was created. Otherwise only a failed attempt is known."""
        return bool(self.artifact_sha256)

    def has_code(self, code: str) -> bool:
        """Return whether the code is this hash or image. Only the digest identifies an image."""
        digest = code.partition("@")[2]
        return code in ("", self.artifact_sha256) or digest == self.image.partition("@")[2] != ""


class LayerRecord(Struct, frozen=True, rename="camel"):
    """One published version of a layer. The last one with its name is the current one."""

    name: str
    key: str
    # The ARN of the version.
    address: str
    # The hash of its files, and that of its archive.
    content: str
    artifact_sha256: str
    # The bytes of its files.
    unpacked: int = 0
    # Whether it is kept when it is no longer used.
    retain: bool = False
    updated_at: str = ""


class StackOutput(Struct, frozen=True):
    name: str
    value: str


class StackResource(Struct, frozen=True, omit_defaults=True):
    """A resource of the deployed template, with a salted hash of its definition."""

    id: str
    type: str
    digest: str
    # Of the properties that AWS changes only with a replacement. Empty if they are not known.
    fixed: str = ""


# How the names of outputs of stacks begin, by phase.
STACK_PREFIXES = {"before": "stack.", "after": "stack.after."}


class StackRecord(Struct, frozen=True, rename="camel", kw_only=True):
    """A CloudFormation stack of the service. Without a key its state is not known."""

    phase: str
    # The name at the provider, and its id there.
    name: str
    key: str = ""
    address: str = ""
    outputs: tuple[StackOutput, ...] = ()
    resources: tuple[StackResource, ...] = ()
    on_remove: str = "keep"
    protect: bool = False
    updated_at: str = ""
    # Salted hashes of the template and of the other inputs, to name the changed ones.
    inputs: tuple[StackOutput, ...] = ()
    # For rollbacks: the hash of the stored template, and the parameters that are not secrets.
    template: str = ""
    parameters: tuple[StackOutput, ...] = ()
    secret_parameters: tuple[str, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Return whether a removal of the service keeps the stack."""
        return self.on_remove != "delete"


class WorkflowRecord(Struct, frozen=True, rename="camel", kw_only=True):
    """A state machine of the service. Without a key its state is not known."""

    name: str
    key: str = ""
    # The ARN of the state machine, and that of its version.
    address: str = ""
    version: str = ""
    # The hash of everything that belongs to a version.
    content: str = ""
    # JSON texts with config names, without secrets.
    triggers: tuple[str, ...] = ()
    settings: Pairs = ()
    updated_at: str = ""

    @property
    def facts(self) -> tuple[str, ...]:
        """Return everything of it that a release reads."""
        settings = (text for pair in self.settings for text in pair)
        return (self.name, self.address, self.version, *self.triggers, *settings)


class Origin(Struct, frozen=True, omit_defaults=True):
    """Where a deployment comes from, as far as it is known."""

    commit: str = ""
    branch: str = ""
    # The user and the machine.
    who: str = ""


class PreviewStage(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The mark of a record that a sweep can remove. Without `expires_at` it does not expire."""

    expires_at: str = ""


class Deployment(Struct, frozen=True, rename="camel"):
    """A past state of a record that can be restored."""

    deployment_id: str
    mode: Mode
    endpoint: str
    outputs: Pairs
    release_key: str
    functions: tuple[FunctionRecord, ...]
    updated_at: str
    workflows: tuple[WorkflowRecord, ...] = ()
    stacks: tuple[StackRecord, ...] = ()
    origin: Origin = Origin()

    def stack(self, phase: str) -> StackRecord | None:
        return next((one for one in self.stacks if one.phase == phase), None)


class Intent(Struct, frozen=True, rename="camel"):
    """A planned call, written before it is made. Without a result its outcome is unknown."""

    task: str
    operation: Operation
    # Names all functions of the call, separated by commas.
    function: str = ""
    deployment_id: str = ""
    at: str = ""


RELEASE_UNCERTAIN = ("doubt", "yes")


class Record(Struct, frozen=True):
    """The state record. `serial` grows with each write, `fence` with each lock holder.

    `salt` keys the hashes of environment values within the lineage. With `RELEASE_UNCERTAIN` in it
    a later release failed or must check the resources. A name `…:function` is deleted with that
    function.
    """

    ref: RecordRef
    provider_id: str
    lineage: str
    salt: str
    serial: int = 0
    fence: int = 0
    region: str = ""
    mode: Mode = Mode.SIMULATED
    lifecycle: Lifecycle = Lifecycle.DEPLOYING
    deployment_id: str = ""
    endpoint: str = ""
    outputs: Pairs = ()
    release_key: str = ""
    functions: tuple[FunctionRecord, ...] = ()
    pending: tuple[Intent, ...] = ()
    history: tuple[Deployment, ...] = ()
    updated_at: str = ""
    # The release state for the provider's next call: it describes current resources, so a rollback
    # never restores it.
    kept: Pairs = ()
    # The versions of layers that fabric published. A rollback can need earlier ones.
    layers: tuple[LayerRecord, ...] = ()
    # The CloudFormation stacks of the service.
    stacks: tuple[StackRecord, ...] = ()
    workflows: tuple[WorkflowRecord, ...] = ()
    # That of the current deployment.
    origin: Origin = Origin()
    preview: PreviewStage | None = None

    def function(self, name: str) -> FunctionRecord | None:
        return next((one for one in self.functions if one.name == name), None)

    def layer(self, name: str) -> LayerRecord | None:
        """Return the current version of a layer."""
        return next((one for one in reversed(self.layers) if one.name == name), None)

    def stack(self, phase: str) -> StackRecord | None:
        return next((one for one in self.stacks if one.phase == phase), None)

    def workflow(self, name: str) -> WorkflowRecord | None:
        return next((one for one in self.workflows if one.name == name), None)

    @property
    def named_outputs(self) -> dict[str, str]:
        """Return the outputs of the service and of its stacks, as other services name them."""
        rows = ((one.phase, output) for one in self.stacks for output in one.outputs)
        stacks = {f"{STACK_PREFIXES[phase]}{one.name}": one.value for phase, one in rows}
        return {**dict(self.outputs), **stacks}

    @property
    def is_stub(self) -> bool:
        """Return whether the record has only a holder's fence: no deploy and no intent."""
        known = (self.functions, self.pending, self.history, self.deployment_id)
        more = (self.layers, self.stacks, self.workflows)
        return self.lifecycle is Lifecycle.DEPLOYING and not any((*known, *more))


# A way to a service that is turned to another address for a while, and how it is turned back.


class Diversion(Struct, frozen=True):
    """Where routes are diverted to. `mark` tags everything created for it at the provider."""

    url: str
    mark: str
    # The provider's previous settings, sufficient for a restore.
    before: Pairs


class ValueOwner(Struct, frozen=True):
    """The binding of a seal: a function, a record and the hash of its environment."""

    ref: RecordRef
    function: str
    salt: str
    environment_sha256: str


class OpenedValues(Struct, frozen=True):
    """Opened values. Without them `why_not` explains the failure; empty if none were stored."""

    values: Secret[Pairs] = NO_PAIRS
    why_not: str = ""
