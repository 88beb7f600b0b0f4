"""Deploy tools for tests of one task: one record, and a provider that keeps its calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.lookups import SecretPin, name_pin
from fabric.model.problems import FabricError, Problem
from fabric.model.records.endings import take_snapshot
from fabric.model.records.record import (
    Deployment,
    Mode,
    OpenedValues,
    Record,
    RecordRef,
    ValueOwner,
)
from fabric.model.secrets.secret import NO_PAIRS, NO_SECRETS, Secret
from fabric.model.secrets.secret_pins import find_pins
from fabric.model.task import Pairs, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import ReleaseInputs, RemoveInputs, RestoreInputs
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    Deployed,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    LiveFunctions,
    Released,
    Unsupported,
)
from fabric.tasks.deploy_tools import DeployTools, StackValues, Values, WorkflowValues
from tests.support.records import record
from tests.tasks.tools import HeldRecord

REF = record().ref
NOTHING_OPENED = OpenedValues()
FAILED = FabricError(Problem("provider/failed", "the call failed"))


@dataclass
class FakeDeployer:
    """A provider. Each call is kept with the names of its functions, or fails."""

    error: FabricError | None = None
    calls: list[tuple[str, ...]] = field(default_factory=list)
    orders: list[FunctionOrder] = field(default_factory=list)
    released: LiveFunctions = ()
    previous: Record | None = None
    unit: DeployUnit = DeployUnit.FUNCTION

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return ()

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        self._call("deploy", address, [one.name for one in functions])
        self.orders += functions
        return Deployed(tuple(LiveFunction(one.name, f"new-{one.name}", "9") for one in functions))

    def release(
        self,
        address: DeploymentAddress,
        functions: LiveFunctions,
        given: Pairs,
        watch: CallContext = NO_CONTEXT,
    ) -> Released:
        self._call("release", address, [one.name for one in functions])
        self.released = functions
        return Released("https://new.example", (*given, ("extra", "1")), (("api", "a1"),))

    def destroy(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> None:
        self._call("destroy", address, [one.name for one in functions])

    def dissolve(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> None:
        self._call("dissolve", address, [one.name for one in functions])

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        return None

    def _call(self, verb: str, address: DeploymentAddress, names: Sequence[str]) -> None:
        self.calls.append((verb, *names))
        self.previous = address.previous
        if self.error:
            raise self.error


@dataclass
class VersionedDeployer(FakeDeployer):
    """A provider that keeps old versions."""

    versions: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)

    def find_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        self.marks = marks
        return self.versions


@dataclass
class Deploys:
    """The tools of a task on one record, as several protocols at once."""

    held: HeldRecord
    provider: FakeDeployer = field(default_factory=FakeDeployer)
    known: dict[str, Values] = field(default_factory=dict)
    stacks: dict[str, StackValues] = field(default_factory=dict)
    workflows: dict[str, WorkflowValues] = field(default_factory=dict)
    outside: Pairs = ()
    urls: dict[str, str] = field(default_factory=dict)
    archive: Path = Path("/nowhere")
    old: Deployment | None = None
    opened: OpenedValues = NOTHING_OPENED
    health: FabricError | None = None
    secret_values: dict[SecretPin, str] = field(default_factory=dict)
    locked: int = 0

    def tools(self, *, force: bool = False, takes_today: bool = False) -> DeployTools:
        return DeployTools(
            records=self,
            deployers=self,
            values=self,
            archives=self,
            targets=self,
            kept_values=self,
            places=self,
            force=force,
            takes_today=takes_today,
        )

    def record(self, ref: RecordRef) -> Record | None:
        return self.held.record if ref == REF else None

    def lock_record(self, ref: RecordRef) -> HeldRecord:
        assert ref == REF
        self.locked += 1
        return self.held

    def as_found(self, stage: str, releases: Sequence[str]) -> Pairs:
        return tuple(pair for pair in self.outside if pair[0] in releases)

    def now(self) -> str:
        return "2026-02-02T00:00:00.000Z"

    def deployer(self, ref: RecordRef, mode: Mode) -> FakeDeployer:
        return self.provider

    def address(self, ref: RecordRef) -> DeploymentAddress:
        return DeploymentAddress(ref.service, ref.stage, ref.provider, "cloud1-lambda")

    def find_known_address(self, ref: RecordRef) -> DeploymentAddress:
        return self.address(ref)

    def full_address(self, ref: RecordRef) -> DeploymentAddress:
        return replace(self.address(ref), region="eu-west-1")

    def open_limits(self, ref: RecordRef) -> FakeDeployer:
        return self.deployer(ref, Mode.REAL)

    def list_hidden_values(self, ref: RecordRef) -> Secret[frozenset[str]]:
        assert ref == REF
        return NO_SECRETS

    def check_health(self, ref: RecordRef, mode: Mode, released: Released) -> None:
        if self.health:
            raise self.health

    def values(self, ref: RecordRef, function: str) -> Values:
        return self.known.get(function, Values())

    def drafts(self, ref: RecordRef) -> tuple[FunctionDraft, ...]:
        return ()

    def stack(self, ref: RecordRef, phase: str) -> StackValues | None:
        return self.stacks.get(phase)

    def workflow(self, ref: RecordRef, name: str) -> WorkflowValues | None:
        return self.workflows.get(name)

    def secrets(self, ref: RecordRef, texts: Sequence[str]) -> Secret[dict[str, str]]:
        return Secret({name_pin(pin): self.secret_values[pin] for pin in find_pins(*texts)})

    def addresses(self, ref: RecordRef) -> Mapping[str, str]:
        return self.urls

    def keep(self, ref: RecordRef, content: bytes) -> Path:
        return self.archive

    def find_archive(self, ref: RecordRef, sha256: str) -> Path:
        return self.archive

    def target(self, ref: RecordRef) -> Deployment:
        return self.old or take_snapshot(self.held.record)

    def seal(self, owner: ValueOwner, values: Pairs) -> str:
        return f"sealed {len(values)}"

    def open_values(self, owner: ValueOwner, text: str) -> OpenedValues:
        return self.opened if text else NOTHING_OPENED

    def is_as_good(self, text: str) -> bool:
        return bool(text)

    def add_places(
        self, ref: RecordRef, function: str, problems: Sequence[Problem]
    ) -> tuple[Problem, ...]:
        return tuple(replace(one, hint=f"{ref.service}/{function}") for one in problems)


def known_values(*settings: tuple[str, str], **declared: str) -> Values:
    """A function of the config, with a declared environment."""
    pairs = tuple(sorted(declared.items()))
    return Values(spec=("hello", settings, ()), declared=Secret(pairs) if pairs else NO_PAIRS)


def removal(function: str = "", mode: Mode = Mode.REAL) -> Task:
    inputs = RemoveInputs("shop", function, "cloud1-lambda", "dev", mode)
    return Task(TaskId("remove:shop@cloud1-lambda"), inputs)


def release(*functions: str, mode: Mode = Mode.REAL, outside: tuple[str, ...] = ()) -> Task:
    inputs = ReleaseInputs("shop", "cloud1-lambda", "dev", mode, (), functions, outside)
    return Task(TaskId("release:shop@cloud1-lambda"), inputs)


def restore(function: str = "", *functions: str, mode: Mode = Mode.REAL) -> Task:
    inputs = RestoreInputs("shop", function, "cloud1-lambda", "dev", mode, "first", functions)
    return Task(TaskId("restore:shop@cloud1-lambda"), inputs)
