"""Records that lie in another account than the one that is spoken to: told before any change."""

from collections.abc import Iterator

from fabric.app.deploy.scope import DeployScope
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.providers.contract import AccountBound


def other_accounts(scope: DeployScope) -> Iterator[Problem]:
    for ref, placement in sorted(scope.placements.items()):
        if placement.mode == Mode.REAL:
            yield from _of_record(scope, ref)


def _of_record(scope: DeployScope, ref: RecordRef) -> Iterator[Problem]:
    record = scope.record(ref)
    if record is None or record.mode is not Mode.REAL:
        return
    try:
        deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
    except FabricError:  # nobody deploys there, which is told beside
        return
    said = deployer.elsewhere(record) if isinstance(deployer, AccountBound) else None
    if said is not None:
        yield said
