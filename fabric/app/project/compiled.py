"""A compiled request: its graph, and all that is known of its services without their configs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fabric.app.project.placement import Placement
from fabric.graph.taskgraph import TaskGraph
from fabric.model.outcomes.planned import PlannedApi, PlannedService, PlannedStack, PlannedWorkflow
from fabric.model.project_info import ProjectInfo

if TYPE_CHECKING:
    from fabric.graph.service_unit import ServiceUnit


class CompiledReads(Struct, frozen=True):
    """All paths that were read or searched for, and the variables."""

    sources: frozenset[str]
    bound_names: frozenset[str]
    # False if a secret manager was used, whose values can change.
    may_be_kept: bool = True


class Compiled(Struct, frozen=True):
    """A graph and the plan's facts of its services.

    `placements` locate the records of its services, `dependencies` those of their dependencies.

    With `is_part` single functions were named; all others stay unchanged.
    """

    info: ProjectInfo
    graph: TaskGraph
    services: tuple[PlannedService, ...]
    reads: CompiledReads
    placements: tuple[Placement, ...] = ()
    dependencies: tuple[Placement, ...] = ()
    # The record versions, once read.
    serials: Mapping[str, int] = field(default_factory=dict)
    # Set if configs were read.
    units: tuple["ServiceUnit", ...] = ()
    is_part: bool = False
    # The changes of their stacks, workflows and APIs, once compared with the state.
    stacks: tuple[PlannedStack, ...] = ()
    workflows: tuple[PlannedWorkflow, ...] = ()
    apis: tuple[PlannedApi, ...] = ()
