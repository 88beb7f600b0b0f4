"""What is live: one record for each service, stage and provider, and how it came to be."""

from enum import StrEnum

from msgspec import Struct

from fabric.model.task import Pairs


class Mode(StrEnum):
    """How a provider is reached: not at all, through the user's command, or by itself."""

    SIMULATED = "simulated"
    COMMAND = "command"
    REAL = "real"


class Lifecycle(StrEnum):
    DEPLOYING = "deploying"
    DEPLOYED = "deployed"
    FAILED = "failed"
    REMOVING = "removing"


class Operation(StrEnum):
    """What a task was about to do at a provider when its intent was written."""

    DEPLOY = "deploy"
    REMOVE = "remove"
    RELEASE = "release"


class RecordRef(Struct, frozen=True, order=True):
    """Which record: `provider` is the label where one is used, else the provider's id."""

    service: str
    stage: str
    provider: str

    @property
    def path(self) -> str:
        return f"{self.service}/{self.stage}/{self.provider}"

    @property
    def title(self) -> str:
        return f"`{self.service}` ({self.stage}, {self.provider})"


class FunctionRecord(Struct, frozen=True, rename="camel"):
    """One live function. `triggers` are JSON texts under the names of the config, without secrets;
    `environment` pairs each variable with a keyed digest of its value; `settings` are all other
    declared inputs of the deploy, `upstream` the digests of what other tasks gave it.
    `sealed_values` are the values of its variables under a key that is not in the record."""

    name: str
    key: str
    artifact_sha256: str
    resource_name: str = ""
    resource_id: str = ""
    endpoint: str = ""
    handler: str = ""
    triggers: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    settings: Pairs = ()
    environment: Pairs = ()
    environment_sha256: str = ""
    sealed_values: str = ""
    upstream: Pairs = ()
    updated_at: str = ""

    @property
    def was_made(self) -> bool:
        """Else nobody knows of more than a call that was to make it, and failed."""
        return bool(self.artifact_sha256)


class Deployment(Struct, frozen=True, rename="camel"):
    """A past state of a record that can be gone back to."""

    deployment_id: str
    mode: Mode
    endpoint: str
    outputs: Pairs
    release_key: str
    functions: tuple[FunctionRecord, ...]
    updated_at: str


class Intent(Struct, frozen=True, rename="camel"):
    """Written before the provider is called. Without a result nobody knows how the call ended.

    `function` names all functions of the call, with commas between them.
    """

    task: str
    operation: Operation
    function: str = ""
    deployment_id: str = ""
    at: str = ""


DOUBT = ("doubt", "yes")


class Record(Struct, frozen=True):
    """The state of record. `serial` grows by one with each write, `fence` with each holder of the
    lock; `salt` keys the digests of environment values for the life of the lineage. `kept` is what
    the last release left for the provider's next call: it describes what is there now, so nothing
    ever goes back to an earlier one. With `DOUBT` in it a later release broke off, or was told to
    look for itself. A name that ends in `:` and a function's goes when that function does."""

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
    kept: Pairs = ()

    def function(self, name: str) -> FunctionRecord | None:
        return next((one for one in self.functions if one.name == name), None)

    @property
    def is_stub(self) -> bool:
        """Only a holder's fence so far: nothing was ever deployed, nothing is on its way."""
        known = self.functions or self.pending or self.history or self.deployment_id
        return self.lifecycle is Lifecycle.DEPLOYING and not known
