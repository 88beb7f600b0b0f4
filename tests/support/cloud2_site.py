"""A service at the server of cloud2, by its deployer alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from fabric.model.records.record import Mode
from fabric.providers.cloud2.provider import Cloud2Functions
from fabric.providers.cloud2.work import parse_revision
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.provider import Connections
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.registry import open_deployer
from tests.support.orders import around, context
from tests.support.servers.cloud2.client import Cloud2Server
from tests.support.service_site import LostAnswer, ServiceSite, SiteAnswer, asked

# Tries once: what a second run makes of it is to be seen.
MAX_PARALLEL = RetryPolicy(most=0)


class Cloud2Site(ServiceSite):
    provider: ClassVar[str] = "cloud2-functions"

    def __init__(
        self,
        cloud2: Cloud2Server,
        folder: Path,
        service: str = "shop",
        extension: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, service, extension)
        self.cloud2 = cloud2
        self.env = dict(env or {})
        self._connections = Connections()

    @property
    def deployer(self) -> Cloud2Functions:
        surroundings = around(self.folder, self.environment)
        extension = self.address().extension
        made = open_deployer(
            context(self.provider, surroundings, extension, self._connections), Mode.REAL
        )
        assert isinstance(made, Cloud2Functions)
        waiting = MAX_PARALLEL if self.gives_up else self.waiting
        return replace(made, waiting=waiting, building=replace(self.waiting, most=30.0))

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.cloud2.environment, **self.env}

    def refuse_release(self) -> None:
        self.cloud2.fault("jobs$", method="POST", status=400, word="INVALID_ARGUMENT")

    def refuse_change(self, skip: int) -> None:
        asked = {"status": 400, "word": "INVALID_ARGUMENT"}
        self.cloud2.fault("", changing=True, skip=skip, **asked)

    def close(self) -> None:
        self._connections.close()

    def beside(self, service: str) -> "Cloud2Site":
        return Cloud2Site(self.cloud2, self.folder, service, env=self.env)

    def url(self, path: str) -> str:
        """Each function has an address of its own."""
        function = "bye" if path == "/bye" else "hello"
        return self.cloud2.project.url(f"{self.service}-dev-{function}") + path

    def asked(self, method: str, path: str, **headers: str) -> SiteAnswer:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return asked(method, self.url(path), named)

    def left(self) -> object:
        return self.cloud2.left()

    def made(self) -> object:
        return self.cloud2.left(), self.cloud2.revisions()

    def calls(self) -> int:
        return len(self.cloud2.calls())

    def changes(self) -> int:
        return self.cloud2.changes()

    def reset(self) -> None:
        self.cloud2.reset()

    def lose(self, way: LostAnswer, skip: int) -> None:
        is_refused = way is LostAnswer.BEFORE
        plan: dict[str, Any] = {"status": 503} if is_refused else {way.value: True}
        self.cloud2.fault("", skip=skip, **plan)

    def has_lost(self) -> bool:
        return any(status in (0, 503) for _, _, status in self.cloud2.calls())

    def lose_version(self, live: LiveFunction) -> None:
        place = f"/v2/projects/{self.cloud2.project.id}/locations/europe-west1"
        name = f"{place}/services/{live.resource_name}/revisions/{parse_revision(live.resource_id)}"
        self.cloud2.api("DELETE", name)
