"""The built-in deployer for Kubernetes: one kubectl apply for all functions of a service, and pods
that serve them."""

import contextlib
from collections.abc import Iterator, Sequence

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.applying import ClusterWork
from fabric.providers.cluster.deploying import deployed, found
from fabric.providers.cluster.releasing import destroyed, dissolved, released
from fabric.providers.cluster.settings import ClusterSettings
from fabric.providers.cluster.tool import ClusterTool
from fabric.providers.cluster.unfit import unfit_drafts
from fabric.providers.contract import (
    CallWatch,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    Unfit,
)
from fabric.providers.guarded_deployer import GuardedDeployer, Operations
from fabric.providers.redaction import Redaction, nothing_shown
from fabric.providers.refused_calls import Quoted, over_orders

_OPERATIONS = Operations[ClusterWork](
    lambda work, _, orders: deployed(work, orders),
    lambda work, _, functions: released(work, functions),
    lambda work, _, functions: destroyed(work, functions),
    lambda work, *_: dissolved(work),
    lambda work, _, function, mark: found(work, function, mark),
)


class ClusterOrchestrator(GuardedDeployer[ClusterWork], frozen=True):
    """The Kubernetes deployer. `own` are the settings of this provider's config section."""

    tool: ClusterTool
    own: ClusterSettings

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.SERVICE

    @property
    def operations(self) -> Operations[ClusterWork]:
        return _OPERATIONS

    def _opened(
        self,
        address: DeploymentAddress,
        watch: CallWatch,
        quoted: Quoted,  # noqa: ARG002 - its tool speaks in lines that are hidden as a whole
    ) -> ClusterWork:
        return ClusterWork(self.tool, self.own, address, self.waiting, watch)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        return tuple(unfit_drafts(address, functions))

    def identity(self, address: DeploymentAddress) -> str:  # noqa: ARG002 - one place for all
        """Check a permission without using it."""
        place = self.tool.place
        with self._guarded("the cluster"):
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
    def _guarded(
        self,
        whose: str,  # noqa: ARG002 - its problems name the function or the object themselves
        orders: Sequence[FunctionOrder] = (),
    ) -> Iterator[Redaction]:
        """Redact errors: a cluster quotes the submitted objects, and pod output can contain
        anything."""
        hide = over_orders(self.hide, orders)
        with nothing_shown(hide):
            yield hide
