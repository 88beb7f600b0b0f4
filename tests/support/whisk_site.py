"""A service at the server of cloud6, or of cloud5, by its deployer alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from fabric.model.records.record import Mode
from fabric.providers.core.contract import FunctionOrder, LiveFunction
from fabric.providers.core.provider import Connections
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.registry import open_deployer
from fabric.providers.whisk.deployer import WhiskFunctions
from tests.support.orders import around, context
from tests.support.servers.edge1.client import Met
from tests.support.servers.whisk.client import WhiskServer
from tests.support.service_site import LostAnswer, ServiceSite, SiteAnswer, asked

# Tries once: what a second run makes of it is to be seen.
MAX_PARALLEL = RetryPolicy(most=0)


class WhiskSite(ServiceSite):
    provider: ClassVar[str] = "cloud6-functions"

    def __init__(
        self,
        server: WhiskServer,
        folder: Path,
        service: str = "shop",
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, service)
        self.server = server
        self.env = dict(env or {})
        self._connections = Connections()

    @property
    def deployer(self) -> WhiskFunctions:
        surroundings = around(self.folder, self.environment)
        made = open_deployer(
            context(self.provider, surroundings, "{}", self._connections), Mode.REAL
        )
        assert isinstance(made, WhiskFunctions)
        return replace(made, waiting=MAX_PARALLEL if self.gives_up else self.waiting)

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.server.environment, **self.env}

    def refuse_release(self) -> None:
        for method in ("PUT", "POST"):
            self.server.fault("triggers", method=method, status=400, message="no")

    def refuse_change(self, skip: int) -> None:
        self.server.fault("", changing=True, skip=skip, status=400, message="not today")

    def close(self) -> None:
        self._connections.close()

    def beside(self, service: str) -> "WhiskSite":
        return type(self)(self.server, self.folder, service, self.env)

    def url(self, path: str) -> str:
        """Each function has an address of its own."""
        function = "bye" if path == "/bye" else "hello"
        return self.server.url(f"{self.service}-dev", function) + path

    def asked(self, method: str, path: str, **headers: str) -> SiteAnswer:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return asked(method, self.url(path), named)

    def get(self, path: str = "/hello", **headers: str) -> Met:
        return self.server.http("GET", self.url(path), headers=headers)

    def left(self) -> object:
        return self.server.left()

    def made(self) -> object:
        return self.server.left(), sorted(self.server.space.actions), self.server.schedules()

    def calls(self) -> int:
        return len(self.server.calls())

    def changes(self) -> int:
        return self.server.changes()

    def reset(self) -> None:
        self.server.reset()

    def lose(self, way: LostAnswer, skip: int) -> None:
        is_refused = way is LostAnswer.BEFORE
        plan: dict[str, Any] = {"status": 503} if is_refused else {way.value: True}
        self.server.fault("", skip=skip, **plan)

    def has_lost(self) -> bool:
        return any(status in (0, 503) for _, _, status in self.server.calls())

    def lose_version(self, live: LiveFunction) -> None:
        del self.server.space.actions["/".join(live.resource_id.split("/")[-2:])]


class Cloud5Site(WhiskSite):
    provider: ClassVar[str] = "cloud5-functions"

    def order_of(self, name: str, content: bytes, *triggers: str, **env: str) -> FunctionOrder:
        """Its runtimes are others."""
        order = super().order_of(name, content, *triggers, **env)
        return replace(order, artifact=replace(order.artifact, runtime="nodejs22.x"))
