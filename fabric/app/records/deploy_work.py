"""The services of a deploy, their configs, and the locations of their records."""

import contextlib
import os
import shlex
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.placement import Placement
from fabric.app.settings import Settings
from fabric.config.rules.path_places import ConfigPlaces, FunctionPath
from fabric.config.values import Config
from fabric.graph.service_unit import ServiceUnit
from fabric.model.problems import ConfigSpot, FabricError, Place, Problem
from fabric.model.records.record import RecordRef
from fabric.system.files.disk import read_bytes

_USUAL = "fabric.yml"


class Units:
    """The services with their configs, read on first use.

    A service deployed to several targets appears once for each.
    """

    def __init__(self, load: Callable[[], Iterable[ServiceUnit]]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._found: dict[RecordRef, ServiceUnit] | None = None

    def all(self) -> Collection[ServiceUnit]:
        return self._index_by_target().values()

    def get(self, ref: RecordRef) -> ServiceUnit | None:
        """Return the service of a record. If no config has its target, any target of the service
        counts, preferably in its stage."""
        found = self._index_by_target()
        if ref in found:
            return found[ref]
        rows = [(one.stage != ref.stage, one) for one in found if one.service == ref.service]
        return found[min(rows)[1]] if rows else None

    def _index_by_target(self) -> Mapping[RecordRef, ServiceUnit]:
        with self._lock:
            if self._found is None:
                self._found = {
                    RecordRef(unit.service, unit.config.stage, unit.config.provider.label): unit
                    for unit in self._load()
                }
            return self._found


class DeployWork(Struct, frozen=True):
    """The work of a deploy. A plan needs records only.

    Its configs are read only for warnings that need more than the placement.
    """

    placements: Mapping[RecordRef, Placement]
    units: Units
    deployment_ids: Mapping[RecordRef, str]
    settings: Settings
    # Services that this run reads, and does not change.
    dependencies: Mapping[RecordRef, Placement] = MappingProxyType({})

    def config(self, ref: RecordRef) -> Config | None:
        unit = self.units.get(ref)
        return unit.config if unit else None

    def options(self, ref: RecordRef, provider: str = "") -> str:
        """Return the command-line options that select this record, or another provider of its
        service."""
        file = find_config_file(self, ref)
        named = RecordRef(ref.service, ref.stage, provider or ref.provider)
        return format_record_options(named, file, self.settings)


def find_config_file(work: DeployWork, ref: RecordRef) -> Path:
    """The path of a service's config, also of a dependency that is not part of the run."""
    placement = work.placements.get(ref) or work.dependencies[ref]
    config = work.config(ref)
    return Path(placement.folder, Path(config.document.file).name if config else _USUAL)


def format_record_options(ref: RecordRef, config: Path, settings: Settings) -> str:
    """Format the command-line options that select a record of a config."""
    file = os.path.relpath(settings.cwd / config, settings.cwd)
    words = ("-c", file) if file != _USUAL else ()
    return shlex.join((*words, "--stage", ref.stage, "--provider", ref.provider))


# What a run itself, or a store, has to say is about no line of a config.
_AREAS = ("provider/", "deploy/", "credentials/", "config/")
_SERVICE = ConfigSpot()


class ProblemPlaces:
    """Thread-safe. A config is read again only once something went wrong."""

    def __init__(self, work: DeployWork) -> None:
        self._work = work
        self._places: dict[RecordRef, ConfigPlaces | None] = {}

    def add_places(
        self, ref: RecordRef, function: str, problems: Sequence[Problem]
    ) -> tuple[Problem, ...]:
        """Add config places. `function` applies to problems that do not name a function."""
        spot = ConfigSpot(function) if function else _SERVICE
        return tuple(self._place_problem(ref, one.about or spot, one) for one in problems)

    def _place_problem(self, ref: RecordRef, spot: ConfigSpot, problem: Problem) -> Problem:
        if problem.where is not None or not problem.code.startswith(_AREAS):
            return problem
        places = self._read_places(ref)
        if places is None:
            return problem
        found = self._attach_place(places, spot, problem)
        # A function that has left the config stands nowhere any more.
        if found.where is None or not found.where.line:
            found = self._attach_place(places, _SERVICE, problem)
        return replace(found, frame=problem.frame or found.frame)

    def _attach_place(self, places: ConfigPlaces, spot: ConfigSpot, problem: Problem) -> Problem:
        (found,) = places.sort_problems([(_build_path(spot), replace(problem, where=Place("")))])
        return found

    def _read_places(self, ref: RecordRef) -> ConfigPlaces | None:
        if ref not in self._places:
            self._places[ref] = self._read(ref)
        return self._places[ref]

    def _read(self, ref: RecordRef) -> ConfigPlaces | None:
        """Read the config. Returns None if it is missing or unreadable."""
        placement = self._work.placements.get(ref)
        with contextlib.suppress(OSError, FabricError):
            config = self._work.config(ref)
            if config is not None and placement is not None:
                text = read_bytes(Path(placement.folder, Path(config.document.file).name))
                return ConfigPlaces(config, text)
        return None


def _build_path(spot: ConfigSpot) -> FunctionPath:
    if not spot.function:
        return FunctionPath("", "", ("provider",))
    keys = () if spot.trigger is None else ("triggers",)
    return FunctionPath(spot.function, "", keys, spot.trigger or 0)
