"""A service at the server of host2, by its deployer alone."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fabric.providers.core.contract import LiveFunction
from tests.support.servers.host2.client import Host2Server
from tests.support.whole_site import WholeSite


class Host2Site(WholeSite):
    provider: ClassVar[str] = "host2"
    title: ClassVar[str] = "Netlify"
    variables: ClassVar[tuple[str, str, str]] = (
        "HOST2_AUTH_TOKEN",
        "HOST2_SITE_ID",
        "HOST2_API_BASE_URL",
    )
    create: ClassVar[str] = "deploys$"
    place_path: ClassVar[str] = "/sites/"
    creating: ClassVar[Mapping[str, Any]] = {"changing": True}
    denied: ClassVar[str] = "401 Access Denied"

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.extension

    @property
    def host2(self) -> Host2Server:
        assert isinstance(self.server, Host2Server)
        return self.server

    def refuse_release(self) -> None:
        self.host2.fault("restore", status=422, message="not today")

    def versions(self) -> int:
        return self.host2.deploys()

    def lose_version(self, live: LiveFunction) -> None:
        self._delete(live.resource_id.split("/")[1])

    def delete_first_version(self) -> None:
        self._delete(next(iter(self.host2.site.deploys)))

    def _delete(self, ident: str) -> None:
        self.host2.api("DELETE", f"/deploys/{ident}")

    def unpublish(self) -> None:
        self.host2.site.published = ""

    @property
    def page(self) -> str:
        return self.host2.site.url
