"""What a deployer is asked, and what it answers: plain values on both sides."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct

from fabric.model.catalog import DeployUnit
from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.model.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs


class Artifact(Struct, frozen=True):
    """A function's archive on disk. `handler` is where its code begins, inside the archive."""

    path: Path
    sha256: str
    size: int
    handler: str
    runtime: str
    changed: bool = True


class FunctionOrder(Struct, frozen=True):
    """One function as it is to be. `triggers` are JSON texts under the names of the config.

    `mark` stands for all of the order: what is at the provider under this mark is as it was
    ordered. `secret` names the variables whose values go where a provider keeps secrets. `version`
    is the provider's own one that was the same, where a function goes back to it; with
    `only_version` nothing else will do: the values of its environment are known there alone. With
    a `mark_of_then` it is the same but for its tags, and was made under that mark.
    """

    name: str
    artifact: Artifact
    settings: Pairs = ()
    triggers: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    env: Secret[Pairs] = NO_PAIRS
    tags: Pairs = ()
    reserved_concurrency: int | None = None
    provisioned_concurrency: int | None = None
    mark: str = ""
    secret: frozenset[str] = frozenset()
    version: str = ""
    only_version: bool = False
    mark_of_then: str = ""

    @property
    def secret_values(self) -> tuple[str, ...]:
        return tuple(value for name, value in self.env.reveal() if name in self.secret)


class FunctionDraft(Struct, frozen=True):
    """A function as a config has it, before anything is built: `variables` are the names of its
    environment, `known` those whose values are no secrets and known already."""

    name: str
    settings: Pairs = ()
    triggers: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    provisioned_concurrency: int | None = None
    tags: Pairs = ()
    known: Secret[Pairs] = NO_PAIRS


class Unfit(Struct, frozen=True):
    """What of a draft a deployer cannot do; `trigger` is its number where one of them is meant.
    Without a function a setting of the whole service is meant, and `keys` lead to it."""

    function: str
    problem: Problem
    trigger: int | None = None
    keys: tuple[str, ...] = ()


class ResourceAddress(Struct, frozen=True):
    name: str
    type: str
    env_var: str
    address: Secret[str]


class DeploymentAddress(Struct, frozen=True):
    """Which deployment is meant: what every call on a service has to know.

    `extension` is the JSON text of the provider's own part of the config. `workflows` pairs a name
    with the JSON text of its steps, `secret_refs` a variable with a reference, never a value.
    `previous` is what the record says before the call, with what the last release kept; with
    `DOUBT` in that, what is there has to be looked at: it may be otherwise by now.
    """

    service: str
    stage: str
    label: str
    provider_id: str
    region: str = ""
    deployment_id: str = ""
    extension: str = "{}"
    resources: tuple[ResourceAddress, ...] = ()
    workflows: Pairs = ()
    secret_refs: Pairs = ()
    previous: Record | None = None


class LiveFunction(Struct, frozen=True):
    """One function as it is at the provider; `resource_id` is that of its immutable version where
    the provider has such. `triggers` are those of the order that made it. `tags` and
    `reserved_concurrency` may be a function's and of none of its versions: a release sets those."""

    name: str
    resource_name: str
    resource_id: str
    endpoint: str = ""
    artifact_sha256: str = ""
    mark: str = ""
    triggers: tuple[str, ...] = ()
    tags: Pairs = ()
    reserved_concurrency: int | None = None


class Deployed(Struct, frozen=True):
    """What a deploy made. `outputs` are what the whole unit gave besides."""

    functions: tuple[LiveFunction, ...]
    outputs: Pairs = ()


class Released(Struct, frozen=True):
    """`outputs` are what others receive; `kept` is for the next call on this service alone: it is
    recorded, and never shown, part of a key, or taken back."""

    endpoint: str
    outputs: Pairs = ()
    kept: Pairs = ()


def _nobody_hears(_text: str) -> None:
    pass


def _goes_on() -> bool:
    return False


class CallWatch(Struct, frozen=True):
    """Who follows a call while it is on its way: each line of talk is told to `hear` at once, and
    from when on the call `is_to_end`, it is asked to."""

    hear: Callable[[str], None] = _nobody_hears
    is_to_end: Callable[[], bool] = _goes_on


UNWATCHED = CallWatch()


class FunctionAnswer(Struct, frozen=True):
    """What a function gave back, as text, and what it said meanwhile; `failure` is why it gave
    nothing."""

    response: str
    logs: str = ""
    ms: int = 0
    failure: str = ""


@runtime_checkable
class FunctionCaller(Protocol):
    """A deployer that can call what it deployed, also where that has no address."""

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        """Call what users meet, and wait for it."""


@runtime_checkable
class Identified(Protocol):
    """A deployer that can ask its provider who we are."""

    def identity(self, address: DeploymentAddress) -> str:
        """Whom the provider takes us for; raises where it knows nobody, or lets nobody look."""


@runtime_checkable
class Prepared(Protocol):
    """A deployer whose first call has much to load."""

    def prepare(self, address: DeploymentAddress) -> None:
        """Load it, while others still build; nobody is called."""


@runtime_checkable
class VersionKeeper(Protocol):
    """A deployer whose provider keeps versions of a function, each with its environment."""

    def kept_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        """By function the version that was made under its mark; none of what is not there any
        more."""


@runtime_checkable
class AccountBound(Protocol):
    """A deployer whose services lie in one account each, which the environment names."""

    def elsewhere(self, record: Record) -> Problem | None:
        """Why nothing of this record can be changed from here: it lies in another account. Told
        without a call, before the first change."""


@runtime_checkable
class ServiceInspector(Protocol):
    """A deployer that can look after what a service has besides its functions."""

    def missing(
        self, address: DeploymentAddress, functions: Sequence[LiveFunction]
    ) -> Sequence[str]:
        """What of that is not there any more, each as a noun with its name."""


class Deployer(Protocol):
    """One provider in one mode. Thread-safe; raises a FabricError when the provider refuses.

    Every call may be repeated: what is as it should be stays as it is. A deploy makes ready what
    nobody meets yet, as far as the provider can do that; the release is what lets it be met.
    """

    @property
    def unit(self) -> DeployUnit:
        """What one `deploy` replaces: a function, or the whole service."""

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        """What it cannot do, told without a call: when a service is planned, and again before
        the first change."""

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallWatch = UNWATCHED,
    ) -> Deployed:
        """Make these functions what is ordered; with unit FUNCTION always one."""

    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,
        watch: CallWatch = UNWATCHED,
    ) -> Released:
        """What the service has as a whole. `given` are the outputs of the deploys of this unit."""

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        """Take single functions away, with unit FUNCTION. What is gone already is no error."""

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        """Take the service away: its own resources, and these functions where they are still
        there."""

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        """What users meet now; with a mark, what was made under it, met or not. None: not there,
        or this mode has nobody to ask."""
