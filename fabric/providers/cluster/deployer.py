"""The built-in deployer for Kubernetes: one kubectl apply for all functions of a service, and pods
that serve them."""

import contextlib
from collections.abc import Sequence

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.applying import ClusterWork
from fabric.providers.cluster.client import ClusterSettings, ClusterTool
from fabric.providers.cluster.functions import deploy_orders, find_function
from fabric.providers.cluster.limits import find_unsupported
from fabric.providers.cluster.release import delete_functions, delete_service, release_service
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.deployer import GuardedDeployer, Operations
from fabric.providers.core.work import CallScope


def _fetch_identity(work: ClusterWork) -> str:
    """Check a permission without using it."""
    place = work.tool.place
    if not work.tool.may("create", "deployments.apps"):
        message = (
            f"permission denied: the user of the context `{place.context}` cannot create "
            f"`deployments` in the namespace `{place.namespace}`"
        )
        hint = "grant the role that the Kubernetes guide lists"
        raise FabricError(Problem("credentials/refused", message, hint))
    return f"the user of `{place.context}`, with permission to deploy to `{place.namespace}`"


class ClusterOrchestrator(GuardedDeployer[ClusterWork], frozen=True, kw_only=True):
    """The Kubernetes deployer. Its problems name the function or the object themselves."""

    unit: DeployUnit = DeployUnit.SERVICE
    operations: Operations[ClusterWork] = Operations(
        deploy=lambda work, _, orders: deploy_orders(work, orders),
        release=lambda work, _, functions: release_service(work, functions),
        delete_functions=lambda work, _, functions: delete_functions(work, functions),
        delete_service=lambda work, *_: delete_service(work),
        find_active=lambda work, _, function: find_function(work, function, ""),
        find_by_mark=lambda work, _, function, mark: find_function(work, function, mark),
        fetch_identity=_fetch_identity,
        convert_errors=lambda *_: contextlib.nullcontext(),
    )
    tool: ClusterTool
    # The settings of this provider's config section.
    own: ClusterSettings

    def _open_work(self, scope: CallScope) -> ClusterWork:
        return ClusterWork(self.tool, self.own, scope)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_unsupported(address, functions))
