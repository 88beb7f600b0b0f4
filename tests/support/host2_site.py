"""A service at the server of host2, by its deployer alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.changes import FunctionGone, apply_change
from fabric.model.records.record import Mode
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.provider import Connections
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.host2.deployer import Host2Sites
from fabric.providers.registry import open_deployer
from tests.support.orders import around, context
from tests.support.servers.edge1.client import Met
from tests.support.servers.host2.client import Host2Server
from tests.support.service_site import LostAnswer, ServiceSite

# Tries once: what a second run makes of it is to be seen.
MAX_PARALLEL = RetryPolicy(most=0)


class Host2Site(ServiceSite):
    provider: ClassVar[str] = "host2"
    is_one_version: ClassVar[bool] = True

    def __init__(
        self,
        host2: Host2Server,
        folder: Path,
        service: str = "shop",
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, service)
        self.host2 = host2
        self.env = dict(env or {})
        self._connections = Connections()

    @property
    def deployer(self) -> Host2Sites:
        surroundings = around(self.folder, self.environment)
        made = open_deployer(
            context(self.provider, surroundings, "{}", self._connections), Mode.REAL
        )
        assert isinstance(made, Host2Sites)
        return replace(made, waiting=MAX_PARALLEL if self.gives_up else self.waiting)

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.host2.environment, **self.env}

    def refuse_release(self) -> None:
        self.host2.fault("restore", status=422, message="not today")

    def refuse_change(self, skip: int) -> None:
        self.host2.fault("", changing=True, skip=skip, status=422, message="not today")

    def close(self) -> None:
        self._connections.close()

    def beside(self, service: str) -> "Host2Site":
        """A service has a site of its own."""
        return Host2Site(Host2Server(self.host2.front), self.folder, service)

    def destroy(self, name: str) -> None:
        """A function goes with the next deploy: nobody takes it away by itself."""
        with pytest.raises(FabricError) as raised:
            self.deployer.destroy(self.address(self.record), [self.live(name)], self.watch)
        assert raised.value.first.code == "remove/whole-service"
        self.record = apply_change(self.known(), FunctionGone("remove", name))

    def get(self, path: str = "/hello", **headers: str) -> Met:
        return self.host2.http("GET", self.known().endpoint + path, headers=headers)

    def left(self) -> object:
        return self.host2.left()

    def made(self) -> object:
        return self.host2.left(), self.host2.deploys()

    def calls(self) -> int:
        return len(self.host2.calls())

    def changes(self) -> int:
        return self.host2.changes().total()

    def reset(self) -> None:
        self.host2.reset()

    def lose(self, way: LostAnswer, skip: int) -> None:
        is_refused = way is LostAnswer.BEFORE
        plan: dict[str, Any] = {"status": 503} if is_refused else {way.value: True}
        self.host2.fault("", skip=skip, **plan)

    def has_lost(self) -> bool:
        return any(status in (0, 503) for _, _, status in self.host2.calls())

    def lose_version(self, live: LiveFunction) -> None:
        deploy = live.resource_id.split("/")[1]
        self.host2.api("DELETE", f"/deploys/{deploy}")
