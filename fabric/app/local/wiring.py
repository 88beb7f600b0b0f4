"""Temporarily divert a deployed service's routes to this machine and restore them on exit."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.checks.table import Candidate, Use, require_all
from fabric.app.project.placement import Placement
from fabric.app.records.scope import DeployScope, lock_policy
from fabric.app.settings import Settings
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.record import Diversion, Mode, Record, RecordRef
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.routes import Diverter
from fabric.state.dev_journal import (
    DevJournal,
    build_journal_path,
    drop_journal,
    find_diversion_problem,
    keep_journal,
)
from fabric.state.records.transaction import LockPolicy, lock_records, read_unlocked
from fabric.state.store import RecordStore
from fabric.system.clock import stamp
from fabric.system.process.process_identity import identify_this_process

OPERATION = "invoke dev"


class NotWiredError(FabricError):
    """No route at the provider can be diverted by fabric; users can only do it manually."""


class DivertedService(Struct, frozen=True):
    """A service to divert, and its deployer."""

    record_store: RecordStore
    deployer: Diverter
    address: DeploymentAddress
    provider_id: str
    policy: LockPolicy

    @property
    def ref(self) -> RecordRef:
        return RecordRef(self.address.service, self.address.stage, self.address.label)

    @property
    def home(self) -> Path:
        return self.record_store.home

    def as_recorded(self) -> "DivertedService":
        """Return the service with its current record."""
        record = read_unlocked(self.record_store, self.ref)
        return replace(self, address=replace(self.address, previous=record))


class WiredRoutes(Struct):
    """The diverted routes."""

    turned: tuple[str, ...]
    # Known after they were restored.
    left_alone: tuple[str, ...] = ()


def open_diverted_service(
    scope: DeployScope, placement: Placement, lock_timeout: float
) -> DivertedService:
    """Open a service to divert. Raises if it has no divertible route. Makes no API call."""
    ref = placement.ref
    record = scope.record(ref)
    if record is None:
        raise NotWiredError(_not_diverted_problem(placement, "not deployed there"))
    if record.mode is not Mode.REAL:
        how = "in simulated mode" if record.mode is Mode.SIMULATED else "by a custom command"
        raise NotWiredError(_not_diverted_problem(placement, f"deployed {how}"))
    require_all(Use.DEV, Candidate(scope=scope, refs=frozenset({ref})))
    return build_diverted_service(scope, placement, record, lock_timeout)


def build_diverted_service(
    scope: DeployScope, placement: Placement, record: Record | None, lock_timeout: float
) -> DivertedService:
    ref, deployers = placement.ref, scope.tools.deployers
    deployer = deployers.deployer(ref, Mode.REAL)
    if not isinstance(deployer, Diverter):
        raise NotWiredError(_not_diverted_problem(placement, "this provider does not support it"))
    return DivertedService(
        scope.transaction.record_store(ref),
        deployer,
        replace(deployers.address(ref), previous=record),
        placement.provider_id,
        lock_policy(scope.settings, lock_timeout),
    )


@contextlib.contextmanager
def divert_service_routes(
    given: DivertedService, url: str, settings: Settings
) -> Iterator[WiredRoutes]:
    """Divert the routes under the record's lock.

    The journal is on disk before the first changing call, and is deleted after the last.
    """
    with lock_records(given.record_store, {given.ref: 0}, OPERATION, given.policy):
        waiting = find_diversion_problem(given.home, given.ref)
        if waiting is not None:
            raise FabricError(waiting)
        service = given.as_recorded()
        diversion = service.deployer.diversion(service.address, url, settings.chance(8))
        if diversion is None:
            raise NotWiredError(_no_routes_problem(service))
        keep_journal(service.home, _build_journal(service, diversion, settings))
        routes = WiredRoutes(())
        try:
            routes.turned = tuple(service.deployer.divert(service.address, diversion))
            yield routes
        finally:
            routes.left_alone = tuple(restore_diverted_routes(service, diversion))


def restore_diverted_routes(service: DivertedService, diversion: Diversion) -> Sequence[str]:
    """Restore the routes, even after the lock was lost: only routes that are still diverted by this
    run are changed.

    The journal stays until all routes are restored.
    """
    try:
        left = service.deployer.turn_back(service.address, diversion)
    except FabricError as error:
        raise FabricError(_not_restored_problem(service), *error.problems) from error
    drop_journal(service.home, service.ref)
    return left


def _build_journal(
    service: DivertedService, diversion: Diversion, settings: Settings
) -> DevJournal:
    began = stamp(settings.clock)
    region = service.address.region
    return DevJournal(
        ref=service.ref,
        provider_id=service.provider_id,
        region=region,
        process=identify_this_process(),
        began_at=began,
        diversion=diversion,
    )


def _not_diverted_problem(placement: Placement, why: str) -> Problem:
    message = f"{placement.ref.title} is not routed to this machine: {why}"
    hint = "call the tunnel URL directly: the functions are served there"
    return Problem("dev/not-wired", message, hint)


def _no_routes_problem(service: DivertedService) -> Problem:
    message = f"{service.ref.title} is not routed to this machine: no function has a route"
    hint = "add an http trigger to a function, then run: fabric deploy"
    return Problem("dev/not-wired", message, hint)


def _not_restored_problem(service: DivertedService) -> Problem:
    path = build_journal_path(service.home, service.ref)
    message = f"{service.ref.title} is still routed to the tunnel: its routes could not be restored"
    stage = service.ref.stage
    hint = (
        f"run: fabric invoke dev --restore --stream-from {stage}, or delete the journal and run: "
        f"fabric deploy --force --stage {stage}"
    )
    return Problem("dev/left-wired", message, hint, Place(str(path)))
