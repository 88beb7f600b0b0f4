"""What a deployer cannot do of a config: told with its place, before anything is changed."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabric.app.deploy.health import health_misfits
from fabric.app.deploy.scope import DeployScope
from fabric.config.rules.path_places import FunctionPath, with_places
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.providers.contract import Unfit
from fabric.system.disk import read_bytes


def unfit_problems(scope: DeployScope) -> Iterator[Problem]:
    """A simulated deploy needs no config for this, and a command says itself what it cannot do."""
    for ref, placement in sorted(scope.placements.items()):
        if placement.mode == Mode.REAL:
            yield from _of_record(scope, ref)


def _of_record(scope: DeployScope, ref: RecordRef) -> Sequence[Problem]:
    deployers = scope.tools.deployers
    config = scope.work.config(ref)
    if config is None:
        return ()
    try:
        deployer = deployers.deployer(ref, Mode.REAL)
        found = [
            *deployer.unfit(deployers.address(ref), scope.values.drafts(ref)),
            *health_misfits(config, deployer),
        ]
    except FabricError:  # nobody deploys there, which is told beside
        return ()
    if not found:
        return ()
    with contextlib.suppress(OSError, FabricError):  # it was there a moment ago
        text = read_bytes(Path(scope.placements[ref].folder, Path(config.file).name))
        return with_places(config, text, [(_spot(one), one.problem) for one in found])
    return [one.problem for one in found]


def _spot(one: Unfit) -> FunctionPath:
    keys = one.keys if one.trigger is None else ("triggers",)
    return FunctionPath(one.function, "", keys, one.trigger or 0)
