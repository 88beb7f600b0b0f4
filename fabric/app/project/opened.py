"""The services of one run, as their files say."""

from pathlib import Path

from msgspec import Struct

from fabric.config.values import ComposeService
from fabric.graph.service_unit import ServiceUnit
from fabric.model.problems import Problem


class Project(Struct, frozen=True):
    """The services of one run and the directory that all their paths are relative to.

    `sources` are the files that determined the project; `looked_for` are missing files that would
    have.

    `entries` are the compose entries of the units; `listed` are all entries.
    """

    workspace: Path
    stage: str
    units: tuple[ServiceUnit, ...]
    # The location of `.fabric` if it is not beside the configs.
    home: str = ""
    sources: tuple[Path, ...] = ()
    looked_for: tuple[Path, ...] = ()
    bound_names: frozenset[str] = frozenset()
    # Services outside this run that its services depend on.
    dependencies: tuple[ServiceUnit, ...] = ()
    entries: tuple[ComposeService, ...] = ()
    notes: tuple[Problem, ...] = ()
    listed: tuple[ComposeService, ...] = ()

    @property
    def warnings(self) -> tuple[Problem, ...]:
        of_units = (warning for unit in self.units for warning in unit.config.warnings)
        return tuple(dict.fromkeys((*self.notes, *of_units)))
