"""What tasks that change records work from, in parts: each kind takes the parts that it needs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from fabric.model.names import Digest
from fabric.model.problems import Problem
from fabric.model.records.changes import RecordChange
from fabric.model.records.kept_values import OpenedValues, ValueOwner
from fabric.model.records.record import Deployment, Intent, Mode, Record, RecordRef
from fabric.model.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs, Task
from fabric.model.task_inputs import DnsSyncInputs, Spec
from fabric.providers.contract import CallWatch, Deployer, DeploymentAddress, Released
from fabric.tasks.contract import TaskTools


class OpenRecord(Protocol):
    """One record while this run holds its lock."""

    @property
    def record(self) -> Record: ...
    @property
    def unsettled(self) -> tuple[Intent, ...]:
        """What a run that died was about to do, and nobody has settled yet."""

    def require_lock(self) -> None:
        """Raises when the lock may be somebody else's: to be asked before every call."""

    def add(self, *entries: RecordChange, durable: bool = True) -> None:
        """Keep results; on the disk when this returns, unless they can be had again."""


class Records(Protocol):
    """Thread-safe, like all of these: tasks of many services come here at once."""

    def record(self, ref: RecordRef) -> Record | None:
        """What is live, as far as this run knows; None where nothing ever was."""

    def locked_record(self, ref: RecordRef) -> OpenRecord:
        """The record under its lock; taken with all others of the run when first asked for."""

    def as_found(self, stage: str, releases: Sequence[str]) -> Pairs:
        """Releases that are no tasks of this run, with the digests of what they give today."""

    def now(self) -> str: ...


class Deployers(Protocol):
    def deployer(self, ref: RecordRef, mode: Mode) -> Deployer: ...
    def address(self, ref: RecordRef) -> DeploymentAddress:
        """Just which deployment is meant: enough to take it away."""

    def full_address(self, ref: RecordRef) -> DeploymentAddress:
        """All that a deploy has to know of a service; raises while an upstream gives nothing."""

    def check_health(self, ref: RecordRef, mode: Mode, released: Released) -> None:
        """Raises when a service that asks for a check does not answer as it should."""


class Values(Struct, frozen=True):
    """What a function is to be given. `shown_*` are the same without a secret in them; `declared`
    is its environment with what other services give still open, `spec` what its key is made of.
    `secret` names the variables of its environment that hold secrets."""

    triggers: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    shown_triggers: tuple[str, ...] = ()
    shown_layers: tuple[str, ...] = ()
    env: Secret[Pairs] = NO_PAIRS
    declared: Secret[Pairs] = NO_PAIRS
    spec: Spec = ("", (), ())
    tags: Pairs = ()
    reserved_concurrency: int | None = None
    provisioned_concurrency: int | None = None
    secret: frozenset[str] = frozenset()

    @property
    def is_configured(self) -> bool:
        """Whether the config names the function at all."""
        return bool(self.spec[0])


def watch_of(task: Task, shop: TaskTools) -> CallWatch:
    """What a provider says is the task's talk; it is to end when the run is interrupted."""
    return CallWatch(lambda text: shop.say(task.id, text), shop.is_interrupted)


class FunctionValues(Protocol):
    def values(self, ref: RecordRef, function: str) -> Values: ...
    def addresses(self, ref: RecordRef) -> Mapping[str, str]:
        """What the upstreams of a service give today, by variable."""


class KeptValues(Protocol):
    """Values that records keep under a key of the process; without one none are kept."""

    def seal(self, owner: ValueOwner, values: Pairs) -> str: ...
    def opened(self, owner: ValueOwner, text: str) -> OpenedValues: ...
    def is_as_good(self, text: str) -> bool:
        """Whether to seal the same values again would gain nothing."""


class Archives(Protocol):
    def keep(self, ref: RecordRef, content: bytes) -> Path: ...
    def kept(self, ref: RecordRef, sha256: str) -> Path:
        """Its place on this machine; raises where nobody keeps it any more."""


class TargetOfRecords(Protocol):
    def target(self, ref: RecordRef) -> Deployment:
        """What a record is to go back to."""


class NameStanding(Struct, frozen=True):
    """Digests of what a name is to lead to and of what was last applied, empty for nothing;
    `missing` are targets that are not deployed yet."""

    wanted: Digest
    applied: str
    missing: tuple[str, ...] = ()


class NameSynced(Struct, frozen=True):
    """What a name leads to now, in words too."""

    wanted: str
    said: str
    warnings: tuple[Problem, ...] = ()


class NameKeeper(Protocol):
    """Names of routers that lead to what is deployed."""

    def standing(self, inputs: DnsSyncInputs) -> NameStanding: ...
    def sync(self, inputs: DnsSyncInputs) -> NameSynced: ...


class PlacesInConfigs(Protocol):
    """Thread-safe: many tasks may fail at once."""

    def placed(
        self, ref: RecordRef, function: str, problems: Sequence[Problem]
    ) -> tuple[Problem, ...]:
        """With their places, as far as they are about something that a config says; `function` is
        what those are about that do not say it."""


class DeployTools(Struct, frozen=True):
    """All of them. With `force` what is up to date is deployed as well; `takes_today` lets what
    comes back have today's values where it had others."""

    records: Records
    deployers: Deployers
    values: FunctionValues
    archives: Archives
    targets: TargetOfRecords
    kept_values: KeptValues
    places: PlacesInConfigs
    force: bool = False
    takes_today: bool = False
    names: NameKeeper | None = None
