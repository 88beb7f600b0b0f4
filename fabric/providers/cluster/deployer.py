"""A cluster by its own tool: one apply for all functions of a service, and pods that serve them."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.cluster.applying import ClusterWork
from fabric.providers.cluster.deploying import deployed, found
from fabric.providers.cluster.releasing import destroyed, dissolved, released
from fabric.providers.cluster.settings import ClusterSettings
from fabric.providers.cluster.tool import ClusterTool
from fabric.providers.cluster.unfit import unfit_drafts
from fabric.providers.contract import (
    UNWATCHED,
    CallWatch,
    Deployed,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Released,
    Unfit,
)
from fabric.providers.redaction import Redaction, nothing_shown, redaction_of
from fabric.providers.waiting import Waiting


class ClusterOrchestrator(Struct, frozen=True):
    """`own` is what the config says of this provider alone, `hide` are values that no message may
    show."""

    tool: ClusterTool
    own: ClusterSettings
    hide: Redaction
    waiting: Waiting

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.SERVICE

    def _work(self, address: DeploymentAddress, watch: CallWatch = UNWATCHED) -> ClusterWork:
        return ClusterWork(self.tool, self.own, address, self.waiting, watch)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unfit]:
        return tuple(unfit_drafts(address, functions))

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallWatch = UNWATCHED,
    ) -> Deployed:
        values = [pair for order in functions for pair in order.env.reveal()]
        secrets = [value for order in functions for value in order.secret_values]
        with self._told(values, secrets):
            return Deployed(deployed(self._work(address, watch), functions))

    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,  # noqa: ARG002 - deploys here give nothing besides
        watch: CallWatch = UNWATCHED,
    ) -> Released:
        with self._told():
            return released(self._work(address, watch), functions)

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told():
            destroyed(self._work(address, watch), functions)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - labels tell what is ours
        watch: CallWatch = UNWATCHED,
    ) -> None:
        with self._told():
            dissolved(self._work(address, watch))

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        with self._told():
            return found(self._work(address), function, mark)

    def identity(self, address: DeploymentAddress) -> str:  # noqa: ARG002 - one place for all
        """Asks for a right without using it."""
        place = self.tool.place
        with self._told():
            may = self.tool.may("create", "deployments.apps")
        if not may:
            message = (
                f"the user of the context `{place.context}` may not create `deployments` in the "
                f"namespace `{place.namespace}`"
            )
            hint = "give it a role that may: the guide of this provider has one to copy"
            raise FabricError(Problem("credentials/refused", message, hint))
        return f"the user of `{place.context}`, who may deploy to `{place.namespace}`"

    @contextlib.contextmanager
    def _told(
        self, variables: Iterable[tuple[str, str]] = (), secrets: Iterable[str] = ()
    ) -> Iterator[None]:
        """A cluster quotes what it was sent, and pods say what they like."""
        hide = redaction_of((*self.hide.values.reveal(), *secrets), variables)
        with nothing_shown(hide):
            yield
