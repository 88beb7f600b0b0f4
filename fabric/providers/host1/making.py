"""Deploy to Vercel: upload all functions of a service to a deployment without traffic."""

from collections.abc import Sequence

from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import mark_untouched, refuse_without_version
from fabric.providers.host1.deploy_plan import DesiredDeployment, plan_deployment
from fabric.providers.host1.deployments import (
    Host1Work,
    HostDeploymentRow,
    create_deployment,
    fetch_deployment,
    list_newest_deployments,
    wait_until_deployed,
)
from fabric.providers.host1.projects import fetch_domain, fetch_own_production, require_own_project
from fabric.providers.host1.resource_names import (
    ProjectVersion,
    build_function_name,
    parse_version,
)


def deploy_orders(
    work: Host1Work, address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> tuple[LiveFunction, ...]:
    with mark_untouched():
        wanted = plan_deployment(address, orders)
    project = require_own_project(work)
    fetch_own_production(work, wanted.owner, fetch_domain(work))
    row = _find_earlier_deployment(work, wanted, orders)
    if row is None:
        for order in orders:
            refuse_without_version(order)
        row = create_deployment(work, wanted, project.name)
    wait_until_deployed(work, row)
    work.watch.hear(f"the deployment {row.ident} is ready and receives no traffic yet")
    version = ProjectVersion(work.project, row.ident, len(orders))
    return tuple(_build_live_function(address, order, version) for order in orders)


def _find_earlier_deployment(
    work: Host1Work, wanted: DesiredDeployment, orders: Sequence[FunctionOrder]
) -> HostDeploymentRow | None:
    """Find the deployment to roll back to, if it still exists and contains the order. Its server
    files can differ."""
    idents = {parse_version(order.version).deployment for order in orders} - {""}
    for ident in sorted(idents):
        found = fetch_deployment(work, ident)
        if found is not None and _is_whole(wanted, found, orders):
            return found
    rows = list_newest_deployments(work) if idents else ()
    return next((one for one in rows if _is_whole(wanted, one, orders)), None)


def _is_whole(
    wanted: DesiredDeployment, row: HostDeploymentRow, orders: Sequence[FunctionOrder]
) -> bool:
    counts = {wanted.owner.count_in(row.meta, one.name, one.mark) for one in orders}
    return row.is_ready and counts == {len(orders)}


def _build_live_function(
    address: DeploymentAddress, order: FunctionOrder, version: ProjectVersion
) -> LiveFunction:
    return LiveFunction(
        order.name,
        build_function_name(address, order.name),
        version.text,
        artifact_sha256=order.artifact.sha256,
        mark=order.mark,
        triggers=order.triggers,
    )
