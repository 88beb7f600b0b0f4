"""A compiled request: its graph, and all that is known of its services without their configs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fabric.app.project.placement import Placement
from fabric.graph.taskgraph import TaskGraph
from fabric.model.outcomes.planned import PlannedService
from fabric.model.project_info import ProjectInfo

if TYPE_CHECKING:
    from fabric.graph.service_unit import ServiceUnit


class Compiled(Struct, frozen=True):
    """A graph, and what a plan says of its services.

    `sources` are all paths that were read, or looked for, to get here; `bound_names` the variables.
    `placements` say where the records of its services lie, `dependencies` where those of services
    lie that these depend on. `serials` say how far the records are, once they were looked at.
    Not `may_be_kept`: a secret manager had a say, and nobody can tell whether it says the same.
    With `is_part` single functions were named: all others are left alone, configured or not.
    `units` are there if configs were read to get here, for whoever needs them too.
    """

    info: ProjectInfo
    graph: TaskGraph
    services: tuple[PlannedService, ...]
    sources: frozenset[str]
    bound_names: frozenset[str]
    placements: tuple[Placement, ...] = ()
    dependencies: tuple[Placement, ...] = ()
    serials: Mapping[str, int] = field(default_factory=dict)
    units: tuple["ServiceUnit", ...] = ()
    may_be_kept: bool = True
    is_part: bool = False
