"""The state backends of a run, each opened once on first use."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from fabric.app.left_payloads import sweep_payloads
from fabric.app.project.endpoints import foreign_database, foreign_endpoints, foreign_problem
from fabric.app.project.files import calling_environment, sources_of
from fabric.app.project.placement import Placement
from fabric.app.settings import Settings
from fabric.model.back_ends import BackendKind, back_end_facts, reads_variable
from fabric.model.problems import FabricError
from fabric.model.records.record import RecordRef
from fabric.state.backends.unavailable import Unavailable
from fabric.state.store import BackEndPair, RecordStore


def refuse_foreign(placement: Placement, process: Mapping[str, str]) -> None:
    """Reject a backend that the checkout redirects, because that is as dangerous as a wrong
    host."""
    address = dict(placement.settings).get(back_end_facts(placement.backend).address_setting, "")
    found = [
        foreign_problem(sources, name)
        for sources in sources_of(placement.env_place, process)
        for name in (
            *(one for one in foreign_endpoints(sources) if reads_variable(placement.backend, one)),
            *foreign_database(sources, address),
        )
    ]
    if found:
        raise FabricError(*found)


class BackEnds:
    """The state backends of a run, each opened once on first use.

    Blind backends contain no records: they serve previews without state credentials.
    """

    def __init__(self, settings: Settings, *, blind: bool = False) -> None:
        self._settings = settings
        self._blind = blind
        self._open: dict[tuple[object, ...], BackEndPair] = {}

    def of(self, placements: Iterable[Placement]) -> Mapping[RecordRef, RecordStore]:
        return {placement.ref: self.record_store(placement) for placement in placements}

    def record_store(self, placement: Placement) -> RecordStore:
        sweep_payloads(Path(placement.home), self._settings.clock)
        key = (placement.backend, placement.settings, self._told_apart_by(placement))
        if key not in self._open:
            self._open[key] = self._opened(placement)
        return RecordStore(Path(placement.home), self._open[key])

    def _told_apart_by(self, placement: Placement) -> object:
        """Build the part of the store key beyond the kind: the directory, or address and
        credentials."""
        if placement.is_own_folder:
            return placement.home
        return placement.home, frozenset(
            calling_environment(placement.env_place, self._settings.env).items()
        )

    def _opened(self, placement: Placement) -> BackEndPair:
        if self._blind:
            nothing = Unavailable()
            return BackEndPair(nothing, nothing)
        from fabric.state.backends.registry import open_backend

        refuse_foreign(placement, self._settings.env)
        env = calling_environment(placement.env_place, self._settings.env)
        return open_backend(
            BackendKind(placement.backend), dict(placement.settings), env, Path(placement.home)
        )

    def close(self) -> None:
        for stores in self._open.values():
            stores.close()
