"""Results of deploys, removals, rollbacks and queries of the deployed state."""

from typing import ClassVar

from msgspec import field

from fabric.model.outcomes.built import RemoteUse
from fabric.model.outcomes.json_struct import JsonObject, JsonStruct


class FunctionEnd(JsonStruct, frozen=True):
    name: str
    status: str
    reason: str
    ms: int


class ServiceEnd(JsonStruct, frozen=True):
    """One service at one provider after a deploy."""

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
    """The task counts, with the use of a shared cache."""

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


class PromotedArchive(JsonStruct, frozen=True):
    service: str
    function: str
    sha256: str


class PromoteOutcome(DeployOutcome, frozen=True, kw_only=True):
    """A deploy of the archives of another stage."""

    source: str = field(name="from")
    target: str = field(name="to")
    archives: tuple[PromotedArchive, ...]


class VerifiedFunction(JsonStruct, frozen=True, kw_only=True):
    """`verdict` is match, differs or unknown. `expected` is the hash of the built archive, `actual`
    that at the provider."""

    service: str
    function: str
    provider: str
    verdict: str
    expected: str
    actual: str
    reason: str


class VerifyOutcome(JsonStruct, frozen=True):
    stage: str
    commit: str
    functions: tuple[VerifiedFunction, ...]


class ServiceAt(JsonStruct, frozen=True):
    service: str
    provider: str


class FunctionAt(JsonStruct, frozen=True):
    service: str
    provider: str
    function: str


class RemoveOutcome(JsonStruct, frozen=True):
    """`removed` are deleted services. `functions` are deleted functions of other services."""

    stage: str
    removed: tuple[ServiceAt, ...]
    absent: tuple[ServiceAt, ...]
    functions: tuple[FunctionAt, ...] = ()


class RollbackOutcome(JsonStruct, frozen=True, rename={"before": "from"}):
    """`before` is the previous deployment. `to` is the deployment after the rollback, which has its
    own ID if it differs from the restored one."""

    only_in_words: ClassVar[frozenset[str]] = frozenset({"restored"})

    service: str
    stage: str
    provider: str
    before: str
    to: str
    endpoint: str
    functions: tuple[str, ...]
    warnings: tuple[JsonObject, ...] = ()
    restored: str = ""


class AdoptedPart(JsonStruct, frozen=True):
    """A resource of an adoption. `action` is take, keep, create or manual."""

    action: str
    kind: str
    name: str
    function: str
    reason: str


class AdoptOutcome(JsonStruct, frozen=True):
    """The plan of an adoption, or of its undo. `steps` protect the `unprotected` resources of the
    other tool's stacks first."""

    service: str
    stage: str
    provider: str
    release: bool
    changed: bool
    stacks: tuple[str, ...]
    functions: tuple[str, ...]
    parts: tuple[AdoptedPart, ...]
    unprotected: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    deployment_id: str = ""


class PastDeployment(JsonStruct, frozen=True):
    service: str
    stage: str
    provider: str
    deployment_id: str
    endpoint: str
    updated_at: str
    current: bool
    commit: str = ""
    branch: str = ""


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
