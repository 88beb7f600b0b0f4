"""Back ends that keep names, each over a real server, and what somebody else would do there."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from msgspec import to_builtins
from msgspec.json import decode, encode

from fabric.model.routing import DesiredRouting, EndpointShare, Weights
from fabric.providers.connections import Connections
from fabric.providers.dns_contract import DnsBackend
from fabric.providers.dns_registry import dns_backend_of
from fabric.providers.zone_file.backend import ZoneFile
from fabric.providers.zone_file.records import wanted_records
from tests.support.servers.pdns import PdnsSite

OWNER = "shop/dev"
HOSTS = {"main": "shop.one.example", "spare": "shop.two.example", "third": "shop.three.example"}


class DnsSite(ABC):
    """A name nobody has yet; `backend` is opened anew each time that it is asked for."""

    hostname: str

    @abstractmethod
    def backend(self) -> DnsBackend: ...
    @abstractmethod
    def take(self) -> None:
        """Somebody else has something where ours would have to be."""

    @abstractmethod
    def put_beside(self) -> None:
        """Somebody else has something that is in nobody's way."""

    @abstractmethod
    def everything(self) -> object:
        """All that is there, to be compared."""

    @abstractmethod
    def bend(self) -> None:
        """Somebody changes one of ours by hand."""

    def desired(self, weights: Weights, ttl: int = 60) -> DesiredRouting:
        shares = tuple(
            EndpointShare(label, f"https://{HOSTS[label]}", weight) for label, weight in weights
        )
        return DesiredRouting(self.hostname, OWNER, shares, ttl)


class ZoneFileSite(DnsSite):
    def __init__(self, folder: Path) -> None:
        self.hostname = "api.zone.test"
        self._path = folder / "router-zone-dev.json"
        self._zone = folder / "router-zone-dev.zone"

    def backend(self) -> DnsBackend:
        return ZoneFile("local", self._path, wanted_records, self._zone)

    def take(self) -> None:
        self._add("api.zone.test.")

    def put_beside(self) -> None:
        self._add("other.zone.test.")

    def _add(self, name: str) -> None:
        row = {"resource": "dns_record", "name": name, "detail": "60 IN CNAME x.", "owner": "me"}
        self._write({"records": [*self._rows(), row]})

    def _rows(self) -> list[dict[str, object]]:
        return list(decode(self._path.read_bytes())["records"]) if self._path.exists() else []

    def _write(self, document: Mapping[str, object]) -> None:
        self._path.write_bytes(encode({"version": 1, "hostname": self.hostname, **document}))

    def everything(self) -> object:
        return [(row["name"], row["detail"]) for row in self._rows() if row["owner"] == "me"]

    def bend(self) -> None:
        rows = self._rows()
        self._write({"records": [{**rows[0], "detail": "60 IN CNAME elsewhere."}, *rows[1:]]})


class PdnsDnsSite(DnsSite):
    def __init__(self, site: PdnsSite) -> None:
        self._site = site
        self.hostname = f"api.{site.zone}".rstrip(".")

    def backend(self) -> DnsBackend:
        return dns_backend_of("pdns", self._site.environment, Connections())

    def take(self) -> None:
        self._put(f"{self.hostname}.", "CNAME", "somebody.example.")

    def put_beside(self) -> None:
        self._put(f"other.{self._site.zone}", "CNAME", "somebody.example.")
        self._put(f"{self._site.zone}", "TXT", '"a word"')

    def _put(self, name: str, kind: str, text: str) -> None:
        self._site.set_records({"name": name, "type": kind, "records": [{"content": text}]})

    def everything(self) -> object:
        return [
            to_builtins(one)
            for name in (f"other.{self._site.zone}", self._site.zone)
            for one in self._site.record_sets(name)
            if one["type"] != "SOA"
        ]

    def bend(self) -> None:
        (found,) = self._site.record_sets(f"{self.hostname}.")
        found["records"][0]["content"] = found["records"][0]["content"].replace("one", "elsewhere")
        self._site.set_records(found)
