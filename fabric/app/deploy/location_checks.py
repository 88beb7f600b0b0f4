"""Find records that belong to another account or region, before any change."""

from collections.abc import Iterator

from msgspec.structs import replace

from fabric.app.deploy.scope import DeployScope
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.providers.core.contract import AccountBound, Deployer, RegionBound


def find_location_problems(scope: DeployScope) -> Iterator[Problem]:
    """Find account and region mismatches, for commands that change resources."""
    for ref, record, deployer in _list_real_records(scope):
        said = _check_account(deployer, record)
        if said is None and isinstance(deployer, RegionBound):
            address = scope.tools.deployers.address(ref)
            said = deployer.find_region_problem(replace(address, previous=record))
        if said is not None:
            yield said


def find_account_problems(scope: DeployScope) -> Iterator[Problem]:
    """Find account mismatches, for a removal. It determines the region itself."""
    found = (_check_account(deployer, record) for _, record, deployer in _list_real_records(scope))
    return (said for said in found if said is not None)


def _check_account(deployer: Deployer, record: Record) -> Problem | None:
    return deployer.elsewhere(record) if isinstance(deployer, AccountBound) else None


def _list_real_records(scope: DeployScope) -> Iterator[tuple[RecordRef, Record, Deployer]]:
    for ref, placement in sorted(scope.placements.items()):
        if placement.mode == Mode.REAL:
            yield from _list_record_deployers(scope, ref)


def _list_record_deployers(
    scope: DeployScope, ref: RecordRef
) -> Iterator[tuple[RecordRef, Record, Deployer]]:
    record = scope.record(ref)
    if record is None or record.mode is not Mode.REAL:
        return
    try:
        deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
    except FabricError:  # nobody deploys there, which is told beside
        return
    yield ref, record, deployer
