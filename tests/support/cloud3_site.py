"""A service at the server of cloud3, by its deployer alone."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fabric.providers.core.contract import LiveFunction
from tests.support.servers.cloud3.client import Cloud3Server
from tests.support.whole_site import WholeSite


class Cloud3Site(WholeSite):
    provider: ClassVar[str] = "cloud3-functions"
    title: ClassVar[str] = "Azure"
    variables: ClassVar[tuple[str, str, str]] = (
        "CLOUD3_CLIENT_SECRET",
        "CLOUD3_RESOURCE_GROUP",
        "CLOUD3_MANAGEMENT_URL",
    )
    create: ClassVar[str] = r"\.zip$"
    create_method: ClassVar[str] = "PUT"
    place_path: ClassVar[str] = "/subscriptions/"
    creating: ClassVar[Mapping[str, Any]] = {"method": "PUT"}
    denied: ClassVar[str] = "AADSTS7000215"

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.extension

    @property
    def cloud3(self) -> Cloud3Server:
        assert isinstance(self.server, Cloud3Server)
        return self.server

    def refuse_release(self) -> None:
        self.cloud3.fault("/api/publish$", status=422, message="not today")

    def versions(self) -> int:
        """How many packages there are."""
        return len(self.cloud3.packages())

    def lose_version(self, live: LiveFunction) -> None:
        self._delete(live.resource_id.split("/")[1])

    def delete_first_version(self) -> None:
        for blobs in self.cloud3.storage.containers.values():
            for name in list(blobs)[:1]:
                del blobs[name]

    def _delete(self, ident: str) -> None:
        for blobs in self.cloud3.storage.containers.values():
            blobs.pop(f"{ident}.zip", None)

    def unpublish(self) -> None:
        self.cloud3.site.package = b""
        self.cloud3.site.tags["fabric-version"] = ""

    @property
    def page(self) -> str:
        return f"{self.cloud3.front.endpoint}/at/none.azurewebsites.test"
