"""The tools of tasks that change records, split so that each kind takes only its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.config.values import Capacity, Stack, StateMachine
from fabric.graph.decide import Decision
from fabric.graph.plan import Known
from fabric.graph.traces import compute_full_key, compute_static_hash
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Problem, UntouchedError, replace_problems
from fabric.model.records.changes import RecordChange
from fabric.model.records.record import (
    Deployment,
    Intent,
    Mode,
    OpenedValues,
    Record,
    RecordRef,
    ValueOwner,
)
from fabric.model.secrets.secret import NO_PAIRS, NO_SECRETS, Secret
from fabric.model.task import InputEntry, Output, Pairs, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import DnsSyncInputs, Spec
from fabric.providers.core.contract import (
    CallContext,
    Deployer,
    DeploymentAddress,
    FunctionDraft,
    Released,
)
from fabric.tasks.contract import RecordKind, TaskResult, TaskTools

D = TypeVar("D")


class OpenRecord(Protocol):
    """One record under the lock of this run."""

    @property
    def record(self) -> Record: ...
    @property
    def base(self) -> Record:
        """Return the record before this run."""

    @property
    def unsettled(self) -> tuple[Intent, ...]:
        """Return the intents of a dead run that are not settled yet."""

    def require_lock(self) -> None:
        """Raise if the lock can have expired. Call this before every API call."""

    def add(self, *entries: RecordChange, durable: bool = True) -> None:
        """Add results. They are durable on return, unless they can be repeated."""


class Records(Protocol):
    """Thread-safe, like all of these: tasks of many services come here at once."""

    def record(self, ref: RecordRef) -> Record | None:
        """Return the deployed state as this run knows it; None if there never was any."""

    def lock_record(self, ref: RecordRef) -> OpenRecord:
        """Return the record under its lock. The first call takes all locks of the run."""

    def as_found(self, stage: str, releases: Sequence[str]) -> Pairs:
        """Return the output hashes of releases outside this run."""

    def now(self) -> str: ...


class Deployers(Protocol):
    def deployer(self, ref: RecordRef, mode: Mode) -> Deployer: ...
    def open_limits(self, ref: RecordRef) -> Deployer:
        """Open the provider's own deployer for its limits, which need no role."""

    def address(self, ref: RecordRef) -> DeploymentAddress:
        """Return the minimal identity of a deployment, sufficient to delete it."""

    def find_known_address(self, ref: RecordRef) -> DeploymentAddress:
        """Return the address with the settings that are known before a run."""

    def full_address(self, ref: RecordRef) -> DeploymentAddress:
        """Return everything a deploy needs of a service. Raises if an upstream has no output."""

    def list_hidden_values(self, ref: RecordRef) -> Secret[frozenset[str]]:
        """Return the secrets of the config and of the environment, which are never printed."""

    def check_health(self, ref: RecordRef, mode: Mode, released: Released) -> None:
        """Raises when a service that asks for a check does not answer as it should."""


class ShownTexts(Struct, frozen=True):
    """Triggers and layers without secrets."""

    triggers: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()


class Values(Struct, frozen=True):
    """The values of a function.

    `declared` is its environment with open upstream placeholders, `spec` the basis of its key. In
    `declared_plain` and `plain_spec`, secrets at AWS have their values, as in keys of older
    versions of fabric. Without such secrets, `plain_spec` is None.
    """

    triggers: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    shown: ShownTexts = ShownTexts()
    env: Secret[Pairs] = NO_PAIRS
    declared: Secret[Pairs] = NO_PAIRS
    declared_plain: Secret[Pairs] = NO_PAIRS
    spec: Spec = ("", (), ())
    plain_spec: Spec | None = None
    tags: Pairs = ()
    capacity: Capacity = Capacity()
    # Names the secret variables.
    secret: frozenset[str] = frozenset()
    # The late values of triggers, layers, tags and settings.
    late: Pairs = ()
    # The values of secrets at AWS, which are never printed.
    read_secrets: Secret[frozenset[str]] = NO_SECRETS

    @property
    def is_configured(self) -> bool:
        """Whether the config names the function at all."""
        return bool(self.spec[0])


def compute_part_key(task: Task, code: tuple[InputEntry, ...], upstream: Pairs) -> Digest:
    """Compute the key of a layer, stack or workflow, which the record contains."""
    static = compute_static_hash(task.inputs.kind, (*code, *task.inputs.entries()))
    return compute_full_key(static, (), upstream)


def edited_config_error(service: str) -> FabricError:
    message = f"the config of `{service}` was edited during the run"
    return FabricError(Problem("run/moved", message, hint="run the command again"))


class OpenDeployer(Struct, Generic[D], frozen=True):
    """A deployer with the first and the last argument of each of its calls."""

    deployer: D
    address: DeploymentAddress
    watch: CallContext


class PartCall(Struct, frozen=True):
    """The call of a task for a layer, stack or workflow, with its locked record."""

    tools: "DeployTools"
    task: Task
    record: OpenRecord
    task_tools: TaskTools
    mode: Mode

    @contextmanager
    def open(
        self, require: Callable[["DeployTools", RecordRef, Mode], D]
    ) -> Iterator[OpenDeployer[D]]:
        """Open the deployer, if it has such parts and the run still has its lock."""
        ref = get_record_ref(self.task.inputs)
        self.record.require_lock()
        address = replace(self.tools.deployers.address(ref), previous=self.record.record)
        deployer = require(self.tools, ref, self.mode)
        self.task_tools.go_on()
        with self.task_tools.away():
            yield OpenDeployer(deployer, address, watch_of(self.task, self.task_tools))


def watch_of(task: Task, task_tools: TaskTools) -> CallContext:
    """Build the call watch: provider messages are printed, and the call ends if the run is
    interrupted."""
    return CallContext(lambda text: task_tools.say(task.id, text), task_tools.is_interrupted)


class StackValues(Struct, frozen=True):
    """A stack of the config, with the values of its parameters, and their hashes as declared."""

    stack: Stack
    parameters: Secret[Pairs]
    declared: Pairs
    policy: Pairs
    # The names of parameters that contain a secret.
    secret: frozenset[str] = frozenset()
    # The file of the template.
    file: str = ""


class WorkflowValues(Struct, frozen=True):
    """A state machine of the config: its description, its definition with known values, and its
    triggers as JSON texts."""

    machine: StateMachine
    settings: Pairs
    definition: str
    permissions: str = ""
    role: str = ""
    triggers: tuple[str, ...] = ()


class FunctionValues(Protocol):
    def values(self, ref: RecordRef, function: str) -> Values: ...
    def drafts(self, ref: RecordRef) -> tuple[FunctionDraft, ...]:
        """List all functions of a service, as far as they are known before the build."""

    def stack(self, ref: RecordRef, phase: str) -> StackValues | None:
        """Return a stack of the config; None if it has none of this phase."""

    def workflow(self, ref: RecordRef, name: str) -> WorkflowValues | None:
        """Return a state machine of the config; None if it has none of this name."""

    def secrets(self, ref: RecordRef, texts: Sequence[str]) -> Secret[dict[str, str]]:
        """Read the secrets at AWS in texts, by the names of their placeholders."""

    def addresses(self, ref: RecordRef) -> Mapping[str, str]:
        """Map variables to the current outputs of a service's upstreams."""


class SealedValues(Protocol):
    """Values that records store sealed with a process key. Without a key none are stored."""

    def seal(self, owner: ValueOwner, values: Pairs) -> str: ...
    def open_values(self, owner: ValueOwner, text: str) -> OpenedValues: ...
    def is_as_good(self, text: str) -> bool:
        """Whether to seal the same values again would gain nothing."""


class Archives(Protocol):
    def keep(self, ref: RecordRef, content: bytes) -> Path: ...
    def find_archive(self, ref: RecordRef, sha256: str) -> Path:
        """Return the local path of an archive. Raises if it is stored nowhere."""


class TargetOfRecords(Protocol):
    def target(self, ref: RecordRef) -> Deployment:
        """Return the deployment to restore for a record."""


class NameStanding(Struct, frozen=True):
    """Hashes of the desired and of the last applied DNS state; empty for none."""

    wanted: Digest
    applied: str
    # Targets that are not deployed yet.
    missing: tuple[str, ...] = ()


class NameSynced(Struct, frozen=True):
    """The DNS state after a sync, with a description."""

    wanted: str
    said: str
    warnings: tuple[Problem, ...] = ()


class DnsSync(Protocol):
    """Updates the DNS of routers to the deployed endpoints."""

    def standing(self, inputs: DnsSyncInputs) -> NameStanding: ...
    def sync(self, inputs: DnsSyncInputs) -> NameSynced: ...


class PlacesInConfigs(Protocol):
    """Finds config places of problems. Thread-safe, because many tasks can fail in parallel."""

    def add_places(
        self, ref: RecordRef, function: str, problems: Sequence[Problem]
    ) -> tuple[Problem, ...]:
        """Add config places to problems where possible. `function` applies to problems without a
        function."""


class DeployTools(Struct, frozen=True):
    """All tools of deploy tasks. With `force`, up-to-date functions are deployed too.

    `takes_today` allows a rollback to use current values instead of the old ones.
    """

    records: Records
    deployers: Deployers
    values: FunctionValues
    archives: Archives
    targets: TargetOfRecords
    kept_values: SealedValues
    places: PlacesInConfigs
    force: bool = False
    takes_today: bool = False
    names: DnsSync | None = None


def get_record_ref(inputs: object) -> RecordRef:
    """The record of a task that changes the world."""
    names = ("service", "stage", "provider")
    return RecordRef(*(str(getattr(inputs, name)) for name in names))


class PlacedKind:
    """Any task kind that calls providers."""

    def __init__(self, kind: RecordKind, places: PlacesInConfigs) -> None:
        self._kind = kind
        self._places = places
        self._ran: set[TaskId] = set()

    def has_run(self, task_id: str) -> bool:
        """Return whether this task succeeded in this run."""
        return task_id in self._ran

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        return self._kind.code(task)

    def judge(self, known: Known) -> Decision:
        return self._kind.judge(known)

    def claim(self, task: Task) -> None:
        self._kind.claim(task)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        try:
            result = self._kind.run(task, upstream, task_tools)
        except FabricError as error:
            # Whatever else it is says how the run ended, and not what was wrong.
            if type(error) not in (FabricError, UntouchedError):
                raise
            function = task.inputs.function
            placed = self._places.add_places(get_record_ref(task.inputs), function, error.problems)
            raise replace_problems(error, placed) from error
        self._ran.add(task.id)
        return result
