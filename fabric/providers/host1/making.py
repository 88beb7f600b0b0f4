"""Deploy to Vercel: upload all functions of a service to a deployment without traffic."""

from collections.abc import Sequence

from fabric.providers.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.host1.deploy_plan import WantedDeployment, planned
from fabric.providers.host1.deployments import (
    Host1Work,
    HostDeploymentRow,
    created,
    deployment_of,
    made_ready,
    newest_deployments,
)
from fabric.providers.host1.own_settings import (
    ProjectVersion,
    function_name,
    version_in,
)
from fabric.providers.host1.projects import domain_of, own_project, shown
from fabric.providers.only_version import refuse_without_version
from fabric.providers.refused_calls import untouched


def made(
    work: Host1Work, address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> tuple[LiveFunction, ...]:
    with untouched():
        wanted = planned(address, orders)
    project = own_project(work)
    shown(work, wanted.owner, domain_of(work))
    row = _then(work, wanted, orders)
    if row is None:
        for order in orders:
            refuse_without_version(order)
        row = created(work, wanted, project.name)
    made_ready(work, row)
    work.watch.hear(f"the deployment {row.ident} is ready and receives no traffic yet")
    version = ProjectVersion(work.project, row.ident, len(orders))
    return tuple(_live(address, order, version) for order in orders)


def _then(
    work: Host1Work, wanted: WantedDeployment, orders: Sequence[FunctionOrder]
) -> HostDeploymentRow | None:
    """Find the deployment to roll back to, if it still exists and contains the order. Its server
    files can differ."""
    idents = {version_in(order.version).deployment for order in orders} - {""}
    for ident in sorted(idents):
        found = deployment_of(work, ident)
        if found is not None and _is_whole(wanted, found, orders):
            return found
    rows = newest_deployments(work) if idents else ()
    return next((one for one in rows if _is_whole(wanted, one, orders)), None)


def _is_whole(
    wanted: WantedDeployment, row: HostDeploymentRow, orders: Sequence[FunctionOrder]
) -> bool:
    counts = {wanted.owner.count_in(row.meta, one.name, one.mark) for one in orders}
    return row.is_ready and counts == {len(orders)}


def _live(
    address: DeploymentAddress, order: FunctionOrder, version: ProjectVersion
) -> LiveFunction:
    return LiveFunction(
        order.name,
        function_name(address, order.name),
        version.text,
        artifact_sha256=order.artifact.sha256,
        mark=order.mark,
        triggers=order.triggers,
    )
