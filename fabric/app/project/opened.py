"""The services of one run, as their files say."""

from pathlib import Path

from msgspec import Struct

from fabric.config.values import ComposeService
from fabric.graph.service_unit import ServiceUnit
from fabric.model.problems import Problem


class Project(Struct, frozen=True):
    """The services of one run and the folder that all their paths start from.

    `sources` are the files whose content decided all this, and `looked_for` those that would have.
    `dependencies` are services that these depend on and that are no part of this run. `entries` are
    the units as the compose file lists them. `listed` is all that the compose file lists. `home` is
    where `.fabric` lies when that is not beside the configs.
    """

    workspace: Path
    stage: str
    units: tuple[ServiceUnit, ...]
    home: str = ""
    sources: tuple[Path, ...] = ()
    looked_for: tuple[Path, ...] = ()
    bound_names: frozenset[str] = frozenset()
    dependencies: tuple[ServiceUnit, ...] = ()
    entries: tuple[ComposeService, ...] = ()
    notes: tuple[Problem, ...] = ()
    listed: tuple[ComposeService, ...] = ()

    @property
    def warnings(self) -> tuple[Problem, ...]:
        of_units = (warning for unit in self.units for warning in unit.config.warnings)
        return tuple(dict.fromkeys((*self.notes, *of_units)))
