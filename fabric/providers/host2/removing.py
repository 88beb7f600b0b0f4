"""Delete a service on Netlify: publish an empty deploy, then delete its own deploys."""

from collections.abc import Sequence

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.retry import run_parallel
from fabric.providers.host2.deploys import (
    DeployRow,
    DesiredDeploy,
    Host2Work,
    create_deploy,
    delete_deploy,
    fetch_site,
    list_deploys,
    publish_deploy,
    wait_until_processed,
)
from fabric.providers.host2.resource_names import ServiceOwner, build_service_owner, is_of_nobody

_NOTHING: JsonObject = {"files": {}, "functions": {}, "draft": True}


def refuse_single(
    work: Host2Work,  # noqa: ARG001 - nothing is done
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    names = ", ".join(f"`{one.name}`" for one in functions)
    message = f"Netlify cannot delete single functions ({names}): a site shows one deploy"
    hint = f"remove the function from the config of `{address.service}` and deploy"
    raise FabricError(Problem("remove/whole-service", message, hint))


def delete_service(
    work: Host2Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],  # noqa: ARG001 - titles tell what is ours
) -> None:
    """Publish an empty deploy and delete the others. Netlify cannot unpublish, so a deploy must
    replace the service."""
    owner = build_service_owner(address)
    _put_nothing_there(work, owner)
    own = [one for one in list_deploys(work) if owner.is_of(one.title)]
    run_parallel(lambda one: _delete(work, one), own)
    if own:
        work.watch.hear(f"deleted {len(own)} deploys of {owner.name}")


def _put_nothing_there(work: Host2Work, owner: ServiceOwner) -> None:
    site = fetch_site(work)
    there = site.published_deploy
    if there is None:
        return
    if owner.is_of(there.title):
        row = create_deploy(work, DesiredDeploy(owner.title_of_nothing, _NOTHING))
        wait_until_processed(work, row)
        publish_deploy(work, row.id)
        work.watch.hear(
            f"the site {site.endpoint} was not deleted; it shows the empty deploy {row.id}"
        )
    elif not is_of_nobody(there.title):
        work.watch.hear(
            f"the site shows the deploy {there.id}, which does not belong to {owner.name}"
        )


def _delete(work: Host2Work, one: DeployRow) -> None:
    with work.convert_errors(f"the deploy {one.id}"):
        delete_deploy(work, one.id)
