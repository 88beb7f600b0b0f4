"""A service at the server of edge1, by its deployer alone."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from fabric.model.records.record import Mode
from fabric.providers.core.contract import FunctionOrder, LiveFunction
from fabric.providers.core.provider import Connections
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.edge1.provider import Edge1Workers
from fabric.providers.registry import open_deployer
from tests.support.orders import around, context, trigger
from tests.support.servers.edge1.client import Edge1Server, Met
from tests.support.service_site import LostAnswer, ServiceSite

# Tries once: what a second run makes of it is to be seen.
MAX_PARALLEL = RetryPolicy(most=0)
# Of somebody else, and read by a function.
_QUEUE = "before"


class Edge1Site(ServiceSite):
    provider: ClassVar[str] = "edge1-workers"

    def __init__(
        self,
        edge1: Edge1Server,
        folder: Path,
        service: str = "shop",
        extension: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, service, extension)
        self.edge1 = edge1
        self.env = dict(env or {})
        self._connections = Connections()
        self._has_queue = False

    @property
    def deployer(self) -> Edge1Workers:
        surroundings = around(self.folder, self.environment)
        extension = self.address().extension
        made = open_deployer(
            context(self.provider, surroundings, extension, self._connections), Mode.REAL
        )
        assert isinstance(made, Edge1Workers)
        return replace(made, waiting=MAX_PARALLEL if self.gives_up else self.waiting)

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.edge1.environment, **self.env}

    def refuse_release(self) -> None:
        self.edge1.fault("schedules", status=400, code=10100, message="invalid cron string")

    def refuse_change(self, skip: int) -> None:
        self.edge1.fault("", changing=True, skip=skip, status=400, message="not today")

    def close(self) -> None:
        self._connections.close()

    def get(self, path: str = "/hello", **headers: str) -> Met:
        return self.edge1.http("GET", self.known().endpoint + path, headers=headers)

    def full_orders(self) -> Iterable[FunctionOrder]:
        """With a created namespace, and a queue that a function reads."""
        self._has_zone()
        created = {"create": True, "onRemove": "delete"}
        self.extension["bindings"] = {"kv_namespaces": [{"binding": "CACHE", **created}]}
        self._create_queue()
        jobs = trigger("queue", queue=_QUEUE)
        hello, *rest = super().full_orders()
        return (replace(hello, triggers=(*hello.triggers, jobs)), *rest)

    def _create_queue(self) -> None:
        """Once: a later call could be the one whose answer is lost."""
        place = f"/accounts/{self.edge1.account}/queues"
        if not self._has_queue and not self.edge1.api("GET", f"{place}?name={_QUEUE}"):
            self.edge1.api("POST", place, {"queue_name": _QUEUE})
        self._has_queue = True

    def moved_orders(self) -> Iterable[FunctionOrder]:
        self._has_zone()
        return super().moved_orders()

    def _has_zone(self) -> None:
        """A host name of its own, in place of `workers.dev`."""
        self.extension["hostname"] = "shop.example.test"
        self.env["EDGE1_ZONE_ID"] = self.edge1.zone

    def beside(self, service: str) -> "Edge1Site":
        return Edge1Site(self.edge1, self.folder, service, env=self.env)

    def left(self) -> object:
        """All but the queue that was there before."""
        found = self.edge1.left()
        queues = [one for one in found.pop("queues", ()) if one != _QUEUE]
        return {**found, **({"queues": queues} if queues else {})}

    def made(self) -> object:
        return self.edge1.left(), self.edge1.versions()

    def calls(self) -> int:
        return len(self.edge1.calls())

    def changes(self) -> int:
        return self.edge1.changes().total()

    def reset(self) -> None:
        self.edge1.reset()

    def lose(self, way: LostAnswer, skip: int) -> None:
        is_refused = way is LostAnswer.BEFORE
        plan: dict[str, Any] = {"status": 503} if is_refused else {way.value: True}
        self.edge1.fault("", skip=skip, **plan)

    def has_lost(self) -> bool:
        return any(status in (0, 503) for _, _, status in self.edge1.calls())

    def lose_version(self, live: LiveFunction) -> None:
        place = f"/accounts/{self.edge1.account}/workers/scripts/{live.resource_name}"
        self.edge1.api("DELETE", f"{place}?force=true")
