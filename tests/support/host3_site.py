"""A service at the server of host3, by its deployer alone."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fabric.providers.core.contract import LiveFunction
from tests.support.servers.host3.client import Host3Server
from tests.support.whole_site import WholeSite


class Host3Site(WholeSite):
    provider: ClassVar[str] = "host3-machines"
    title: ClassVar[str] = "Fly"
    variables: ClassVar[tuple[str, str, str]] = (
        "HOST3_API_TOKEN",
        "HOST3_APP_NAME",
        "HOST3_API_BASE_URL",
    )
    create: ClassVar[str] = "/machines$"
    place_path: ClassVar[str] = "/apps/"
    creating: ClassVar[Mapping[str, Any]] = {"method": "POST"}
    failed: ClassVar[str] = "its process ended with exit code 1 before its first response"
    denied: ClassVar[str] = "401 Authenticate: token validation error"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"settleSeconds": 0, **self.extension}

    @property
    def host3(self) -> Host3Server:
        assert isinstance(self.server, Host3Server)
        return self.server

    def refuse_release(self) -> None:
        self.host3.fault("/uncordon$", status=422, message="not today")

    def versions(self) -> int:
        """How many machines there are that serve requests."""
        return sum(one.is_serving for one in self.host3.app.there)

    def lose_version(self, live: LiveFunction) -> None:
        self._delete(live.resource_id.split("/")[1])

    def delete_first_version(self) -> None:
        self._delete(next(iter(self.host3.groups())))

    def _delete(self, mark: str) -> None:
        for one in self.host3.groups()[mark]:
            self.host3.api("DELETE", f"/machines/{one.id}?force=true")

    def unpublish(self) -> None:
        self.host3.app.knows_cordons = True
        for one in self.host3.open_machines:
            self.host3.api("POST", f"/machines/{one.id}/cordon")

    @property
    def page(self) -> str:
        return f"{self.host3.front.endpoint}/met/{self.host3.app.name}"
