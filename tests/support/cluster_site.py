"""A service in a cluster, by its deployer alone."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from fabric.model.records.record import Mode
from fabric.providers.cluster.provider import ClusterOrchestrator
from fabric.providers.core.contract import FunctionOrder, LiveFunction
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.registry import open_deployer
from tests.support.orders import HTTP, around, context
from tests.support.servers.cluster.door import UNREACHABLE, Fault, ToolAnswer
from tests.support.servers.cluster.fixtures import TestedCluster
from tests.support.service_site import BYE, EVERY_HOUR, LostAnswer, ServiceSite

_REFUSED = ToolAnswer(1, err="Error from server (Invalid): it is refused\n")
_PODS = RetryPolicy(base=0.02, cap=0.1, most=20.0)


class ClusterSite(ServiceSite):
    provider: ClassVar[str] = "cluster-orchestrator"
    # A rollout replaces pods behind the routes that are there.
    switches_at_release: ClassVar[bool] = False

    def __init__(
        self,
        cluster: TestedCluster,
        folder: Path,
        service: str = "shop",
        extension: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(folder, service, extension)
        self.cluster = cluster
        self.waiting = _PODS
        self._fault = Fault("", UNREACHABLE, times=0)

    @property
    def deployer(self) -> ClusterOrchestrator:
        surroundings = around(self.folder, self.cluster.environment)
        made = open_deployer(
            context(self.provider, surroundings, self.address().extension), Mode.REAL
        )
        assert isinstance(made, ClusterOrchestrator)
        return replace(made, waiting=self.waiting)

    @property
    def environment(self) -> Mapping[str, str]:
        return self.cluster.environment

    def refuse_release(self) -> None:
        """What a deploy applies is taken, and the way in is not."""
        self.cluster.door.faults.append(Fault("apply", _REFUSED, skip=1))

    def refuse_change(self, skip: int) -> None:
        self.cluster.door.faults.append(Fault("", _REFUSED, changing=True, skip=skip))

    def full_orders(self) -> Iterable[FunctionOrder]:
        return (self.order("hello", HTTP, EVERY_HOUR, MODE="-x"), self.order("bye", BYE))

    def moved_orders(self) -> Iterable[FunctionOrder]:
        """Another code, a variable and a schedule that are gone, and a function less."""
        return (self.order("hello", HTTP.replace("hello", "greet"), word="two"),)

    def beside(self, service: str) -> "ClusterSite":
        return ClusterSite(self.cluster, self.folder, service)

    def left(self) -> object:
        return self.cluster.left()

    def calls(self) -> int:
        return len(self.cluster.door.calls)

    def changes(self) -> int:
        return len(self.cluster.door.changing)

    def reset(self) -> None:
        self.cluster.door.reset()

    def lose(self, way: LostAnswer, skip: int) -> None:
        self._fault = Fault("", UNREACHABLE, after=way is not LostAnswer.BEFORE, skip=skip)
        self.cluster.door.faults.append(self._fault)

    def has_lost(self) -> bool:
        return self._fault.times == 0

    def lose_version(self, live: LiveFunction) -> None:
        self.cluster.remove(f"ConfigMap/{live.resource_id}")
