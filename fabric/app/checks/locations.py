"""Find deploys to the wrong place: another account or region, or a target that is taken."""

from collections.abc import Iterator

from msgspec.structs import replace

from fabric.app.records.scope import DeployScope
from fabric.model.catalog import format_provider_title
from fabric.model.problems import Problem
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.providers.core.contract import AccountBound, Deployer, RegionBound, SingleServiceTarget


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
    deployer = scope.find_real_deployer(ref)
    if deployer is not None:
        yield ref, record, deployer


def find_shared_targets(scope: DeployScope) -> Iterator[Problem]:
    """Find services that share a target which can hold only one service."""
    tenants: dict[tuple[str, str], list[str]] = {}
    for ref, placement in sorted(scope.placements.items()):
        place = _find_single_target(scope, ref) if placement.mode == Mode.REAL else ""
        if place:
            tenants.setdefault((placement.provider_id, place), []).append(ref.service)
    for (provider_id, place), services in sorted(tenants.items()):
        if len(services) > 1:
            names = ", ".join(f"`{one}`" for one in services)
            message = (
                f"{names} would share {place} on "
                f"{format_provider_title(provider_id)}, which can contain only one service"
            )
            hint = "set a different one for each of them, in a `.env` file beside its config"
            yield Problem("deploy/shared-place", message, hint)


def _find_single_target(scope: DeployScope, ref: RecordRef) -> str:
    deployer = scope.find_real_deployer(ref)
    if deployer is None or not isinstance(deployer, SingleServiceTarget):
        return ""
    return deployer.sole_place
