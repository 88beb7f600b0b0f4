"""Delete a service on Vercel: all its deployments. The project stays."""

from collections.abc import Sequence

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.retry import run_parallel
from fabric.providers.host1.deployments import (
    Host1Work,
    HostDeploymentRow,
    delete_deployment,
    list_deployments,
)
from fabric.providers.host1.resource_names import build_project_owner


def refuse_single(
    work: Host1Work,  # noqa: ARG001 - nothing is done
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    names = ", ".join(f"`{one.name}`" for one in functions)
    message = f"Vercel cannot delete single functions ({names}): a domain points to one deployment"
    hint = f"remove the function from the config of `{address.service}` and deploy"
    raise FabricError(Problem("remove/whole-service", message, hint))


def delete_service(
    work: Host1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],  # noqa: ARG001 - metadata tells what is ours
) -> None:
    """Delete all deployments. Deleting the production deployment also unlinks its domains."""
    owner = build_project_owner(address)
    own = [one for one in list_deployments(work) if owner.is_of(one.meta)]
    run_parallel(lambda one: _delete(work, one), own)
    if own:
        work.watch.hear(
            f"deleted {len(own)} deployments of {owner.name}; the project was not deleted"
        )


def _delete(work: Host1Work, one: HostDeploymentRow) -> None:
    with work.convert_errors(f"the deployment {one.ident}"):
        delete_deployment(work, one.ident)
