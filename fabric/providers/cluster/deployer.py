"""The built-in deployer for Kubernetes: one kubectl apply for all functions of a service, and pods
that serve them."""

import contextlib
from collections.abc import Iterator, Sequence

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.applying import ClusterWork
from fabric.providers.cluster.client import ClusterSettings, ClusterTool
from fabric.providers.cluster.functions import deploy_orders, find_function
from fabric.providers.cluster.limits import find_unsupported
from fabric.providers.cluster.release import delete_functions, delete_service, release_service
from fabric.providers.core.contract import (
    CallContext,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    Unsupported,
)
from fabric.providers.core.deployer import GuardedDeployer, Operations
from fabric.providers.core.errors import Quoted, extend_redaction
from fabric.providers.core.redaction import Redaction, redact_errors

_OPERATIONS = Operations[ClusterWork](
    deploy=lambda work, _, orders: deploy_orders(work, orders),
    release=lambda work, _, functions: release_service(work, functions),
    delete_functions=lambda work, _, functions: delete_functions(work, functions),
    delete_service=lambda work, *_: delete_service(work),
    find=lambda work, _, function, mark: find_function(work, function, mark),
)


class ClusterOrchestrator(GuardedDeployer[ClusterWork], frozen=True):
    """The Kubernetes deployer."""

    tool: ClusterTool
    # The settings of this provider's config section.
    own: ClusterSettings

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.SERVICE

    @property
    def operations(self) -> Operations[ClusterWork]:
        return _OPERATIONS

    def _open_client(
        self,
        address: DeploymentAddress,
        watch: CallContext,
        quoted: Quoted,  # noqa: ARG002 - its tool speaks in lines that are hidden as a whole
    ) -> ClusterWork:
        return ClusterWork(self.tool, self.own, address, self.waiting, watch)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_unsupported(address, functions))

    def identity(self, address: DeploymentAddress) -> str:  # noqa: ARG002 - one place for all
        """Check a permission without using it."""
        place = self.tool.place
        with self._translate_errors("the cluster"):
            may = self.tool.may("create", "deployments.apps")
        if not may:
            message = (
                f"permission denied: the user of the context `{place.context}` cannot create "
                f"`deployments` in the namespace `{place.namespace}`"
            )
            hint = "grant the role that the Kubernetes guide lists"
            raise FabricError(Problem("credentials/refused", message, hint))
        return f"the user of `{place.context}`, with permission to deploy to `{place.namespace}`"

    @contextlib.contextmanager
    def _translate_errors(
        self,
        whose: str,  # noqa: ARG002 - its problems name the function or the object themselves
        orders: Sequence[FunctionOrder] = (),
    ) -> Iterator[Redaction]:
        """Redact errors: a cluster quotes the submitted objects, and pod output can contain
        anything."""
        hide = extend_redaction(self.hide, orders)
        with redact_errors(hide):
            yield hide
