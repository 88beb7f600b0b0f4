"""A service at the server of host1, by its deployer alone."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fabric.providers.core.contract import LiveFunction
from tests.support.servers.host1.client import Host1Server
from tests.support.whole_site import WholeSite


class Host1Site(WholeSite):
    provider: ClassVar[str] = "host1"
    title: ClassVar[str] = "Vercel"
    variables: ClassVar[tuple[str, str, str]] = (
        "HOST1_TOKEN",
        "HOST1_PROJECT_ID",
        "HOST1_API_BASE_URL",
    )
    create: ClassVar[str] = "v13/deployments$"
    place_path: ClassVar[str] = "/v9/projects/"
    creating: ClassVar[Mapping[str, Any]] = {"method": "POST"}
    denied: ClassVar[str] = "403 Not authorized"

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.extension

    @property
    def host1(self) -> Host1Server:
        assert isinstance(self.server, Host1Server)
        return self.server

    def refuse_release(self) -> None:
        self.host1.fault("/(promote|rollback)/", status=422, message="not today", times=2)

    def versions(self) -> int:
        return self.host1.deployments()

    def lose_version(self, live: LiveFunction) -> None:
        self._delete(live.resource_id.split("/")[1])

    def delete_first_version(self) -> None:
        self._delete(next(iter(self.host1.project.deployments)))

    def _delete(self, ident: str) -> None:
        self.host1.api("DELETE", f"/v13/deployments/{ident}")

    def unpublish(self) -> None:
        self.host1.project.current = ""

    @property
    def page(self) -> str:
        return f"{self.host1.front.endpoint}/met/{self.host1.project.domains[0]['name']}"
