"""A service at the server of cloud4, by its deployer alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from fabric.model.records.record import Mode
from fabric.providers.cloud4.provider import Cloud4Functions
from fabric.providers.cloud4.settings import parse_version
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.provider import Connections
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.registry import open_deployer
from tests.support.orders import around, context
from tests.support.servers.cloud4.client import Cloud4Server
from tests.support.servers.edge1.client import Met
from tests.support.service_site import LostAnswer, ServiceSite, SiteAnswer, asked

# Tries once: what a second run makes of it is to be seen.
MAX_PARALLEL = RetryPolicy(most=0)


class Cloud4Site(ServiceSite):
    provider: ClassVar[str] = "cloud4-fc"

    def __init__(
        self,
        cloud4: Cloud4Server,
        folder: Path,
        service: str = "shop",
        extension: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, service, extension)
        self.cloud4 = cloud4
        self.env = dict(env or {})
        self._connections = Connections()

    @property
    def deployer(self) -> Cloud4Functions:
        surroundings = around(self.folder, self.environment)
        extension = self.address().extension
        made = open_deployer(
            context(self.provider, surroundings, extension, self._connections), Mode.REAL
        )
        assert isinstance(made, Cloud4Functions)
        return replace(made, waiting=MAX_PARALLEL if self.gives_up else self.waiting)

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.cloud4.environment, **self.env}

    def refuse_release(self) -> None:
        self.cloud4.fault("triggers$", method="POST", status=400, code="InvalidArgument")

    def refuse_change(self, skip: int) -> None:
        asked = {"status": 400, "code": "InvalidArgument"}
        self.cloud4.fault("", changing=True, skip=skip, **asked)

    def close(self) -> None:
        self._connections.close()

    def beside(self, service: str) -> "Cloud4Site":
        return Cloud4Site(self.cloud4, self.folder, service, env=self.env)

    def url(self, path: str) -> str:
        """Each function has an address of its own."""
        function = "bye" if path == "/bye" else "hello"
        return self.cloud4.url(f"{self.service}-dev-{function}") + path

    def asked(self, method: str, path: str, **headers: str) -> SiteAnswer:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return asked(method, self.url(path), named)

    def get(self, path: str = "/hello", **headers: str) -> Met:
        return self.cloud4.http("GET", self.url(path), headers=headers)

    def left(self) -> object:
        return self.cloud4.left()

    def made(self) -> object:
        return self.cloud4.left(), self.cloud4.versions(), self.cloud4.schedules()

    def calls(self) -> int:
        return len(self.cloud4.calls())

    def changes(self) -> int:
        return self.cloud4.changes()

    def reset(self) -> None:
        self.cloud4.reset()

    def lose(self, way: LostAnswer, skip: int) -> None:
        is_refused = way is LostAnswer.BEFORE
        plan: dict[str, Any] = {"status": 503} if is_refused else {way.value: True}
        self.cloud4.fault("", skip=skip, **plan)

    def has_lost(self) -> bool:
        return any(status in (0, 503) for _, _, status in self.cloud4.calls())

    def lose_version(self, live: LiveFunction) -> None:
        held = self.cloud4.function(live.resource_name)
        version = parse_version(live.resource_id).version
        del held.versions[version], held.codes[version]
