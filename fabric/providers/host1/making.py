"""A deploy at host1: all functions of a service, brought to a deployment that nobody meets yet."""

from collections.abc import Sequence

from fabric.providers.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.host1.deploy_plan import WantedDeployment, planned
from fabric.providers.host1.deployments import (
    HostDeploymentRow,
    Host1Work,
    among,
    created,
    deployment_of,
    is_met_by,
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


def made(
    work: Host1Work, address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> tuple[LiveFunction, ...]:
    wanted = planned(address, orders)
    project = own_project(work)
    shown(work, wanted.owner, domain_of(work))
    row = _then(work, wanted, orders)
    if row is None:
        for order in orders:
            refuse_without_version(order)
        row = created(work, wanted, project.name)
    made_ready(work, row)
    work.watch.hear(f"the deployment {row.ident} is ready, and no domain leads to it yet")
    version = ProjectVersion(work.project, row.ident, len(orders))
    return tuple(_live(address, order, version) for order in orders)


def _then(
    work: Host1Work, wanted: WantedDeployment, orders: Sequence[FunctionOrder]
) -> HostDeploymentRow | None:
    """On a way back the deployment of then, if it is still there, and is what is ordered."""
    idents = {version_in(order.version).deployment for order in orders} - {""}
    ident = next(iter(idents)) if len(idents) == 1 else ""
    found = deployment_of(work, ident) if ident else None
    if found is not None and is_met_by(wanted, found):
        return found
    return among(wanted, newest_deployments(work)) if idents else None


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
