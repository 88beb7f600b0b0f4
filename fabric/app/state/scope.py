"""The records that a `state` command selects, and their store."""

import contextlib
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement, build_placement_in
from fabric.app.project.placement import Placement
from fabric.app.project.recorded import open_recorded
from fabric.app.records.backends import BackEnds
from fabric.app.records.deploy_work import format_record_options
from fabric.app.records.scope import lock_policy
from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.config.values import Config
from fabric.graph.service_unit import ServiceUnit
from fabric.model.backends import BackendKind
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import RecordRef
from fabric.model.text.spelling import suggest_spelling
from fabric.state.records.listing import list_record_refs
from fabric.state.records.missing import find_missing_problem
from fabric.state.records.transaction import LockPolicy
from fabric.state.store import RecordStore

_UNKNOWN = "usage/unknown-provider"


class StateRequest(Struct, frozen=True):
    """The user's selection; an empty field means the config's value."""

    command: str
    where: Where
    service: str = ""
    backend: str = ""
    lock_timeout: float = 0.0


class StateScope(Struct, frozen=True):
    """One service's records in one backend. Empty `stage` and `provider` select all."""

    project: Project
    placement: Placement
    record_store: RecordStore
    # The record of a command on a single record.
    one: RecordRef
    stage: str
    provider: str
    lock_policy: LockPolicy
    # The problem of a provider that the config does not contain, although it can have records.
    unknown: tuple[Problem, ...] = ()

    def refuse_unknown(self) -> None:
        """Raise if nothing was found and the provider name is unknown."""
        if self.unknown:
            raise FabricError(*self.unknown)

    @property
    def service(self) -> str:
        return self.one.service

    @property
    def config(self) -> Config:
        return self.project.units[0].config

    def find_missing_record(self, ref: RecordRef) -> Problem | None:
        """Return why a missing record should exist."""
        return find_missing_problem(self.record_store, ref, self.lock_policy.options)

    def refs(self) -> tuple[RecordRef, ...]:
        return list_record_refs(self.record_store, self.service, self.stage, self.provider)


@contextlib.contextmanager
def open_scope(asked: StateRequest, settings: Settings) -> Iterator[StateScope]:
    project, unknown = _open_state_project(asked.where, settings)
    placement = _post(project.units[0], project, asked.backend)
    service = asked.service or placement.service
    label = asked.where.provider if unknown else placement.provider
    elsewhere = f" --backend {asked.backend}" if asked.backend else ""
    back_ends = BackEnds(settings)
    try:
        yield StateScope(
            project=project,
            placement=placement,
            record_store=back_ends.record_store(placement),
            one=RecordRef(service, project.stage, label),
            stage=project.stage if asked.where.stage else "",
            provider=label if asked.where.provider else "",
            lock_policy=replace(
                lock_policy(settings, asked.lock_timeout),
                options=lambda ref: format_record_options(ref, project.reads.sources[0], settings)
                + elsewhere,
            ),
            unknown=unknown,
        )
    finally:
        back_ends.close()


def _open_state_project(where: Where, settings: Settings) -> tuple[Project, tuple[Problem, ...]]:
    """Open the project. A provider that the config no longer contains can still have records."""
    try:
        return open_recorded(where, settings), ()
    except FabricError as error:
        if not where.provider or any(one.code != _UNKNOWN for one in error.problems):
            raise
        unknown = error.problems
    return open_recorded(replace(where, provider=""), settings), unknown


def _post(unit: ServiceUnit, project: Project, kind: str) -> Placement:
    if not kind:
        return build_placement(unit, project.workspace, project.home)
    return build_placement_in(
        unit, project.workspace, parse_backend_kind(kind, "--backend"), project.home
    )


def parse_backend_kind(text: str, option: str) -> BackendKind:
    kinds = tuple(BackendKind)
    if text in kinds:
        return BackendKind(text)
    problem = Problem(
        "usage/unknown-backend",
        f"unknown state backend for {option}: `{text}`" if text else f"missing option {option}",
        hint=suggest_spelling(text, kinds) if text else "use one of " + ", ".join(kinds),
    )
    raise FabricError(problem)


def absent_record_error(scope: StateScope, ref: RecordRef) -> FabricError:
    """Return the error for a missing record: never written, or lost."""
    lost = scope.find_missing_record(ref)
    return (
        FabricError(lost)
        if lost
        else record_not_found_error(ref, scope.record_store.stores.state.place)
    )


def record_not_found_error(ref: RecordRef, place: str) -> FabricError:
    return FabricError(
        Problem(
            "state/not-found",
            f"no state of {ref.title} found in `{place}`",
            hint="run: fabric state list",
        )
    )
