"""Find services that would replace each other, before any change."""

from collections.abc import Iterator

from fabric.app.deploy.scope import DeployScope
from fabric.model.catalog import format_provider_title
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.providers.places import SingleServiceTarget


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
    try:
        deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
    except FabricError:  # nobody deploys there, which is told beside
        return ""
    return deployer.sole_place if isinstance(deployer, SingleServiceTarget) else ""
