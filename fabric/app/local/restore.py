"""`invoke dev --restore`: restore routes that a killed `invoke dev` left diverted."""

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from fabric.app.local.wiring import OPERATION, build_diverted_service, restore_diverted_routes
from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.project.placement import Placement
from fabric.app.project.project import open_project
from fabric.app.records.scope import ScopeOptions, open_deploy_scope
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.model.outcomes.queried import RestoredOutcome, RestoredService
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode
from fabric.model.report import Report
from fabric.state.dev_journal import (
    DevJournal,
    find_diversion_problem,
    list_all_journals,
    list_stage_journals,
    read_journal,
)
from fabric.state.records.transaction import lock_records
from fabric.system.process.process_identity import is_surely_alive


def restore_wired(request: Request, settings: Settings, lock_timeout: float) -> Report:
    project = _open_restore_project(request, settings)
    found = restore_diverted_services(project, settings, lock_timeout)
    outcome = RestoredOutcome(project.stage, found)
    return Report(
        request.command, outcome, warnings=(*project.warnings, *_warn_of_other_services(project))
    )


def _open_restore_project(request: Request, settings: Settings) -> Project:
    """Open the project. The journal has all data for a restore, so an unreadable config is
    accepted."""
    try:
        return open_project(request.where, settings)
    except FabricError:
        return open_project(request.where.for_records(), settings)


def _warn_of_other_services(project: Project) -> Iterator[Problem]:
    """Warn of other diverted services, because a service can have been renamed."""
    own = build_placement(project.units[0], project.workspace, project.home)
    home = Path(own.home)
    for ref in list_all_journals(home, own.stage):
        problem = find_diversion_problem(home, ref) if ref.service != own.service else None
        if problem is not None:
            hint = f"set `service: {ref.service}` in the config if the service was renamed, then "
            yield replace(problem, hint=f"{hint}run --restore")


def restore_diverted_services(
    project: Project, settings: Settings, lock_timeout: float
) -> tuple[RestoredService, ...]:
    """Restore all diverted routes of this service and stage. Raises if the diverting process still
    runs."""
    unit = project.units[0]
    own = build_placement(unit, project.workspace, project.home)
    home = Path(own.home)
    refs = tuple(list_stage_journals(home, own.service, own.stage))
    found = [journal for ref in refs if (journal := read_journal(home, ref))]
    for journal in found:
        problem = (
            find_diversion_problem(home, journal.ref) if is_surely_alive(journal.process) else None
        )
        if problem is not None:
            raise FabricError(problem)
    return tuple(_restore_service(own, one, project, settings, lock_timeout) for one in found)


def _restore_service(
    own: Placement,
    journal: DevJournal,
    project: Project,
    settings: Settings,
    lock_timeout: float,
) -> RestoredService:
    there = replace(
        own,
        provider=journal.ref.provider,
        provider_id=journal.provider_id,
        region=journal.region,
        mode=Mode.REAL.value,
    )
    options = ScopeOptions(lambda: project.units, lock_timeout=lock_timeout)
    with open_deploy_scope((there,), settings, options) as scope:
        service = build_diverted_service(scope, there, scope.record(there.ref), lock_timeout)
        with lock_records(service.record_store, {there.ref: 0}, OPERATION, service.policy):
            # Somebody else may have done it while we waited.
            is_left = read_journal(service.home, there.ref) == journal
            left = restore_diverted_routes(service, journal.diversion) if is_left else ()
    return RestoredService(there.service, there.provider, tuple(left))
