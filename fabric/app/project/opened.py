"""The services of one run, as their files say."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.request import Where
from fabric.config.values import ComposeService
from fabric.graph.service_unit import ServiceUnit
from fabric.model.problems import Problem


class ProjectReads(Struct, frozen=True):
    """The files that determined the project, missing files that would have, and variables."""

    sources: tuple[Path, ...] = ()
    looked_for: tuple[Path, ...] = ()
    bound_names: frozenset[str] = frozenset()


class Project(Struct, frozen=True):
    """The services of one run and the directory that all their paths are relative to.

    `entries` are the compose entries of the units; `listed` are all entries.
    """

    workspace: Path
    stage: str
    units: tuple[ServiceUnit, ...]
    # The location of `.fabric` if it is not beside the configs.
    home: str = ""
    reads: ProjectReads = ProjectReads()
    # Services outside this run that its services depend on.
    dependencies: tuple[ServiceUnit, ...] = ()
    entries: tuple[ComposeService, ...] = ()
    notes: tuple[Problem, ...] = ()
    listed: tuple[ComposeService, ...] = ()

    @property
    def warnings(self) -> tuple[Problem, ...]:
        of_units = (warning for unit in self.units for warning in unit.config.document.warnings)
        return tuple(dict.fromkeys((*self.notes, *of_units)))


T = TypeVar("T")


def merge_targets(found: Sequence[Project], where: Where) -> Project:
    """Merge the targets. Each target has a separate build output directory."""
    units = tuple(
        replace(
            unit,
            apart=unit.config.provider.label if len(found) > 1 else "",
            leads_name=where.router.leads_name,
        )
        for project in found
        for unit in project.units
    )
    dependencies = {
        (unit.service, unit.config.stage, unit.config.provider.label): unit
        for project in found
        for unit in project.dependencies
    }
    return replace(
        found[0],
        units=units,
        reads=ProjectReads(
            sources=_merge_distinct(project.reads.sources for project in found),
            looked_for=_merge_distinct(project.reads.looked_for for project in found),
            bound_names=frozenset().union(*(project.reads.bound_names for project in found)),
        ),
        dependencies=tuple(dependencies.values()),
        entries=tuple(entry for project in found for entry in project.entries),
        notes=_merge_distinct(project.notes for project in found),
    )


def _merge_distinct(rows: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one for row in rows for one in row))
