"""What became of what is live: deployed, removed, taken back, or just looked at."""

from fabric.model.outcomes.json_struct import JsonObject, JsonStruct
from fabric.model.outcomes.remote_use import RemoteUse


class FunctionEnd(JsonStruct, frozen=True):
    name: str
    status: str
    reason: str
    ms: int


class ServiceEnd(JsonStruct, frozen=True):
    """One service at one provider, as a deploy left it."""

    service: str
    provider: str
    mode: str
    deployment_id: str
    endpoint: str
    outputs: dict[str, str]
    status: str
    error: str | None
    functions: tuple[FunctionEnd, ...]


class TaskCounts(JsonStruct, frozen=True, omit_defaults=True):
    """With a shared cache, what it did is told beside."""

    ran: int
    skipped: int
    failed: int
    blocked: int
    ms: int
    remote: RemoteUse | None = None


class DeployOutcome(JsonStruct, frozen=True):
    stage: str
    rolled_back: bool
    deployments: tuple[ServiceEnd, ...]
    levels: tuple[tuple[str, ...], ...]
    summary: TaskCounts


class ServiceAt(JsonStruct, frozen=True):
    service: str
    provider: str


class FunctionAt(JsonStruct, frozen=True):
    service: str
    provider: str
    function: str


class RemoveOutcome(JsonStruct, frozen=True):
    """`removed` are services that are gone, `functions` those that are gone of services that
    stay."""

    stage: str
    removed: tuple[ServiceAt, ...]
    absent: tuple[ServiceAt, ...]
    functions: tuple[FunctionAt, ...] = ()


class RollbackOutcome(JsonStruct, frozen=True, rename={"before": "from"}):
    """`before` is the deployment that was live, `to` the one that is."""

    service: str
    stage: str
    provider: str
    before: str
    to: str
    endpoint: str
    functions: tuple[str, ...]
    warnings: tuple[JsonObject, ...] = ()


class PastDeployment(JsonStruct, frozen=True):
    service: str
    stage: str
    provider: str
    deployment_id: str
    endpoint: str
    updated_at: str
    current: bool


class ReleasesOutcome(JsonStruct, frozen=True):
    service: str
    releases: tuple[PastDeployment, ...]


class ServiceOutputs(JsonStruct, frozen=True):
    service: str
    provider: str
    endpoint: str
    outputs: dict[str, str]


class OutputsOutcome(JsonStruct, frozen=True):
    stage: str
    services: tuple[ServiceOutputs, ...]
    absent: tuple[ServiceAt, ...]
