"""Delete a service on Vercel: all its deployments. The project stays."""

from collections.abc import Sequence

from fabric.model.problems import FabricError, Problem
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.host1.deployments import (
    Host1Work,
    HostDeploymentRow,
    all_deployments,
    deleted,
)
from fabric.providers.host1.own_settings import owner_of
from fabric.providers.side_by_side import side_by_side


def refuse_single(
    work: Host1Work,  # noqa: ARG001 - nothing is done
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    names = ", ".join(f"`{one.name}`" for one in functions)
    message = f"Vercel cannot delete single functions ({names}): a domain points to one deployment"
    hint = f"remove the function from the config of `{address.service}` and deploy"
    raise FabricError(Problem("remove/whole-service", message, hint))


def dissolved(
    work: Host1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],  # noqa: ARG001 - metadata tells what is ours
) -> None:
    """Delete all deployments. Deleting the production deployment also unlinks its domains."""
    owner = owner_of(address)
    own = [one for one in all_deployments(work) if owner.is_of(one.meta)]
    side_by_side(lambda one: _delete(work, one), own)
    if own:
        work.watch.hear(
            f"deleted {len(own)} deployments of {owner.name}; the project was not deleted"
        )


def _delete(work: Host1Work, one: HostDeploymentRow) -> None:
    with work.told(f"the deployment {one.ident}"):
        deleted(work, one.ident)
