"""The services of a deploy, their configs, and the locations of their records."""

import os
import shlex
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from fabric.app.project.placement import Placement
from fabric.app.settings import Settings
from fabric.config.values import Config
from fabric.graph.service_unit import ServiceUnit
from fabric.model.records.record import RecordRef

_USUAL = "fabric.yml"


class Units:
    """The services with their configs, read on first use.

    A service deployed to several targets appears once for each.
    """

    def __init__(self, load: Callable[[], Iterable[ServiceUnit]]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], ServiceUnit] | None = None

    def all(self) -> Collection[ServiceUnit]:
        return self._index_by_target().values()

    def get(self, ref: RecordRef) -> ServiceUnit | None:
        """Return the service of a record. If no config has its target, any target of the service
        counts."""
        found = self._index_by_target()
        own = found.get((ref.service, ref.provider))
        return own or next((one for one in found.values() if one.service == ref.service), None)

    def _index_by_target(self) -> Mapping[tuple[str, str], ServiceUnit]:
        with self._lock:
            if self._found is None:
                self._found = {
                    (unit.service, unit.config.provider.label): unit for unit in self._load()
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
    return Path(placement.folder, Path(config.file).name if config else _USUAL)


def format_record_options(ref: RecordRef, config: Path, settings: Settings) -> str:
    """Format the command-line options that select a record of a config."""
    file = os.path.relpath(settings.cwd / config, settings.cwd)
    words = ("-c", file) if file != _USUAL else ()
    return shlex.join((*words, "--stage", ref.stage, "--provider", ref.provider))
