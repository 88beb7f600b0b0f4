"""Find records that belong to another account or region, before any change."""

from collections.abc import Iterator

from msgspec.structs import replace

from fabric.app.deploy.scope import DeployScope
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.providers.contract import AccountBound, Deployer
from fabric.providers.places import RegionBound


def other_places(scope: DeployScope) -> Iterator[Problem]:
    """Find account and region mismatches, for commands that change resources."""
    for ref, record, deployer in _real(scope):
        said = _of_account(deployer, record)
        if said is None and isinstance(deployer, RegionBound):
            address = scope.tools.deployers.address(ref)
            said = deployer.misplaced(replace(address, previous=record))
        if said is not None:
            yield said


def other_accounts(scope: DeployScope) -> Iterator[Problem]:
    """Find account mismatches, for a removal. It determines the region itself."""
    found = (_of_account(deployer, record) for _, record, deployer in _real(scope))
    return (said for said in found if said is not None)


def _of_account(deployer: Deployer, record: Record) -> Problem | None:
    return deployer.elsewhere(record) if isinstance(deployer, AccountBound) else None


def _real(scope: DeployScope) -> Iterator[tuple[RecordRef, Record, Deployer]]:
    for ref, placement in sorted(scope.placements.items()):
        if placement.mode == Mode.REAL:
            yield from _of_record(scope, ref)


def _of_record(scope: DeployScope, ref: RecordRef) -> Iterator[tuple[RecordRef, Record, Deployer]]:
    record = scope.record(ref)
    if record is None or record.mode is not Mode.REAL:
        return
    try:
        deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
    except FabricError:  # nobody deploys there, which is told beside
        return
    yield ref, record, deployer
