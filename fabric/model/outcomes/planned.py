"""The content of a plan: services with functions, and tasks with decisions."""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import field

from fabric.model.outcomes.json_struct import Json, JsonObject, JsonStruct


class PlannedFunction(JsonStruct, frozen=True):
    """`change` is create, update, delete or none. `fields` have old and new values."""

    name: str
    triggers: tuple[JsonObject, ...]
    layers: tuple[str, ...]
    change: str
    fields: dict[str, tuple[Json, Json]] = field(default_factory=dict)


class PlannedService(JsonStruct, frozen=True):
    service: str
    provider: str
    mode: str
    functions: tuple[PlannedFunction, ...]
    warnings: tuple[str, ...] = ()


class PlannedResource(JsonStruct, frozen=True):
    """`action` is add, change, replace or delete."""

    id: str
    type: str
    action: str


class PlannedStack(JsonStruct, frozen=True):
    """A CloudFormation stack of a service, with the resources whose definitions change."""

    service: str
    name: str
    resources: tuple[PlannedResource, ...]


class PlannedWorkflow(JsonStruct, frozen=True):
    """A state machine of a service. `change` and `fields` are as those of a function."""

    service: str
    provider: str
    name: str
    change: str
    fields: dict[str, tuple[Json, Json]] = field(default_factory=dict)


class PlannedApi(JsonStruct, frozen=True):
    """The changed settings of the API of a deployed service, with old and new values."""

    service: str
    provider: str
    fields: dict[str, tuple[Json, Json]]


class PlannedTask(JsonStruct, frozen=True):
    id: str
    kind: str
    service: str
    function: str
    provider: str
    level: int
    depends_on: tuple[str, ...]
    action: str
    reason: str
    inputs: int
    key: str | None


class PlanSummary(JsonStruct, frozen=True):
    """The number of functions by change, and of tasks by decision."""

    create: int
    update: int
    delete: int
    unchanged: int
    tasks: int
    run: int
    skip: int
    wait: int


class PlanOutcome(JsonStruct, frozen=True):
    stage: str
    mode: str
    services: tuple[PlannedService, ...]
    tasks: Sequence[PlannedTask]
    levels: tuple[tuple[str, ...], ...]
    summary: PlanSummary
    warnings: tuple[JsonObject, ...] = ()
    # Without stacks, workflows or changed APIs there is no key for them in JSON.
    stacks: tuple[PlannedStack, ...] = ()
    workflows: tuple[PlannedWorkflow, ...] = ()
    apis: tuple[PlannedApi, ...] = ()


class ChangedInput(JsonStruct, frozen=True):
    kind: str
    name: str
    old: str
    new: str


class Cause(JsonStruct, frozen=True):
    """A task that another one waits for and that runs for its own reasons."""

    task: str
    reason: str
    changed: tuple[ChangedInput, ...]


class ExplainOutcome(JsonStruct, frozen=True):
    """Why one task would run."""

    only_in_words: ClassVar[frozenset[str]] = frozenset({"inputs"})

    task: str
    action: str
    reason: str
    changed: tuple[ChangedInput, ...]
    # The number of compared inputs.
    inputs: int
    # The first outdated tasks that it depends on.
    causes: tuple[Cause, ...] = ()
