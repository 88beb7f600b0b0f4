"""The state backends of a run, each opened once on first use."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from fabric.app.caching.payload_cleanup import sweep_payloads
from fabric.app.project.endpoints import (
    foreign_endpoint_problem,
    list_foreign_databases,
    list_foreign_endpoints,
)
from fabric.app.project.files import build_client_environment, list_env_sources
from fabric.app.project.placement import Placement
from fabric.app.settings import Settings
from fabric.model.backends import BackendKind, back_end_facts, is_store_variable
from fabric.model.problems import raise_if_any
from fabric.model.records.record import RecordRef
from fabric.state.backends.failures import Unavailable
from fabric.state.store import BackEndPair, RecordStore


def check_backend_variables(placement: Placement, process: Mapping[str, str]) -> None:
    """Reject a backend that the checkout redirects, because that is as dangerous as a wrong
    host."""
    address = dict(placement.settings).get(
        back_end_facts(placement.backend).client.address_setting, ""
    )
    found = [
        foreign_endpoint_problem(sources, name)
        for sources in list_env_sources(placement.env_place, process)
        for name in (
            *(
                one
                for one in list_foreign_endpoints(sources)
                if is_store_variable(placement.backend, one)
            ),
            *list_foreign_databases(sources, address),
        )
    ]
    raise_if_any(found)


class BackEnds:
    """The state backends of a run, each opened once on first use.

    Blind backends contain no records: they serve previews without state credentials.
    """

    def __init__(self, settings: Settings, *, without_state: bool = False) -> None:
        self._settings = settings
        self._without_state = without_state
        self._open: dict[tuple[object, ...], BackEndPair] = {}

    def of(self, placements: Iterable[Placement]) -> Mapping[RecordRef, RecordStore]:
        return {placement.ref: self.record_store(placement) for placement in placements}

    def record_store(self, placement: Placement) -> RecordStore:
        sweep_payloads(Path(placement.home), self._settings.clock)
        key = (placement.backend, placement.settings, self._build_store_key(placement))
        if key not in self._open:
            self._open[key] = self._open_backend(placement)
        return RecordStore(Path(placement.home), self._open[key])

    def _build_store_key(self, placement: Placement) -> object:
        """Build the part of the store key beyond the kind: the directory, or address and
        credentials."""
        if placement.is_own_folder:
            return placement.home
        return placement.home, frozenset(
            build_client_environment(placement.env_place, self._settings.env).items()
        )

    def _open_backend(self, placement: Placement) -> BackEndPair:
        if self._without_state:
            nothing = Unavailable()
            return BackEndPair(nothing, nothing)
        from fabric.state.backends.registry import open_backend

        check_backend_variables(placement, self._settings.env)
        env = build_client_environment(placement.env_place, self._settings.env)
        return open_backend(
            BackendKind(placement.backend), dict(placement.settings), env, Path(placement.home)
        )

    def close(self) -> None:
        for stores in self._open.values():
            stores.close()
