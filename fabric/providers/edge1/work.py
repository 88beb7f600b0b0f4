"""The context of one call at Cloudflare, and the names of the values that a release stores."""

from urllib.parse import quote

from fabric.providers.core.errors import Judged, ignore_missing
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.work import ApiWork
from fabric.providers.edge1.client import Edge1Api, Edge1Settings, classify_refusal

# The classes of the Durable Objects: whether a removal deletes them, and the tag of their version.
OBJECTS = "objects"
# With the name of a function: its version with traffic.
VERSION = "version:"
ACCOUNT, GATE, PLACE, ADDRESS = "account", "gate", "place", "address"
# The zone that the last release made a route in.
ZONE = "zone"


class Edge1Work(ApiWork[Edge1Api], frozen=True, kw_only=True):
    title: str = "Cloudflare"
    judged: Judged = classify_refusal
    own: Edge1Settings

    def measure_pause(self) -> float:
        return self.api.rate.pause()

    def account_path(self, rest: str) -> str:
        return f"/accounts/{quote(self.api.account.account, safe='')}{rest}"

    @property
    def workers(self) -> str:
        return self.account_path("/workers")

    def script(self, name: str, rest: str = "") -> str:
        return f"{self.workers}/scripts/{name}{rest}"

    def tell(self, call: ProviderCall) -> None:
        self.ask(call, object)

    def delete_script(self, name: str) -> None:
        """Delete a Worker even if it has bindings, or others bind to it."""
        with ignore_missing():
            self.tell(ProviderCall("DELETE", self.script(name, "?force=true")))


def build_routes_path(zone: str) -> str:
    return f"/zones/{quote(zone, safe='')}/workers/routes"
