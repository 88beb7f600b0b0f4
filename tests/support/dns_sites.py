"""Back ends that keep names, each over a real server, and what somebody else would do there."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from msgspec import to_builtins
from msgspec.json import decode, encode

from fabric.model.routing.routing import DesiredRouting, EndpointShare, Weights
from fabric.model.secrets.secret import Secret
from fabric.providers.core.provider import CommandEnvironment, Connections
from fabric.providers.core.routes import DnsBackend
from fabric.providers.dns_registry import build_dns_backend, choose_dns_kind
from fabric.providers.zone_file.backend import ZoneFile
from fabric.providers.zone_file.records import plan_zone_records
from tests.support.orders import context
from tests.support.servers.edge1.client import Edge1Server
from tests.support.servers.pdns import PdnsSite
from tests.support.servers.relay import Relay
from tests.support.servers.strict_cloud1.client import StrictCloud1

OWNER = "shop/dev"
HOSTS = {"main": "shop.one.example", "spare": "shop.two.example", "third": "shop.three.example"}


class DnsSite(ABC):
    """A name nobody has yet; `backend` is opened anew each time that it is asked for. One that
    has no weights only `tells_weights` by who has the most. While ours is there it `takes_others`
    of the same name, or refuses them."""

    hostname: str
    tells_weights: ClassVar[bool] = True
    takes_others: ClassVar[bool] = True

    def __init__(self) -> None:
        self.connections = Connections()

    @abstractmethod
    def backend(self) -> DnsBackend: ...
    @abstractmethod
    def take(self) -> None:
        """Somebody else has something where ours would have to be."""

    def take_beside_ours(self) -> None:
        """The same, while ours is there too."""
        self.take()

    @abstractmethod
    def put_beside(self) -> None:
        """Somebody else has something that is in nobody's way."""

    @abstractmethod
    def everything(self) -> object:
        """All that is there, to be compared."""

    @abstractmethod
    def bend(self) -> None:
        """Somebody changes one of ours by hand."""

    def desired(self, weights: Weights, ttl: int = 60, check: str = "") -> DesiredRouting:
        shares = tuple(
            EndpointShare(label, f"https://{HOSTS[label]}", weight) for label, weight in weights
        )
        return DesiredRouting(self.hostname, OWNER, shares, ttl, check_path=check)


class KeptNameSite(DnsSite):
    """A name that somebody else's server keeps: `provider` is its word in a config."""

    provider: ClassVar[str]

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]: ...
    @abstractmethod
    def asked(self) -> int:
        """How often the server was asked since the last `reset`."""

    @abstractmethod
    def reset(self) -> None: ...
    @abstractmethod
    def there(self) -> Mapping[str, int]:
        """How many things of each kind it has for the name."""

    def backend(self) -> DnsBackend:
        kind = choose_dns_kind(self.provider, self.environment)
        around = CommandEnvironment(Path(), Secret(self.environment))
        return build_dns_backend(context(kind, around, connections=self.connections))


class ZoneFileSite(DnsSite):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.hostname = "api.zone.test"
        self._path = folder / "router-zone-dev.json"
        self._zone = folder / "router-zone-dev.zone"

    def backend(self) -> DnsBackend:
        return ZoneFile("local", self._path, plan_zone_records, self._zone)

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


class PdnsDnsSite(KeptNameSite):
    """The server keeps no count of its calls: a relay before it does."""

    provider: ClassVar[str] = "pdns"

    def __init__(self, site: PdnsSite, relay: Relay) -> None:
        super().__init__()
        self._site = site
        self.relay = relay
        self.hostname = f"api.{site.zone}".rstrip(".")

    @property
    def environment(self) -> Mapping[str, str]:
        return dataclasses.replace(self._site, api=self.relay.port).environment

    def asked(self) -> int:
        return len(self.relay.calls)

    def reset(self) -> None:
        self.relay.reset()

    def there(self) -> Mapping[str, int]:
        return {"sets": len(self._site.record_sets(f"{self.hostname}."))}

    def take(self) -> None:
        self._put(f"{self.hostname}.", "CNAME", "somebody.example.")

    def put_beside(self) -> None:
        self._put(f"other.{self._site.zone}", "CNAME", "somebody.example.")
        self._put(f"{self._site.zone}", "TXT", '"a word"')

    def take_beside_ours(self) -> None:
        self._put(f"{self.hostname}.", "A", "192.0.2.7")

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


class Cloud1DnsSite(KeptNameSite):
    provider: ClassVar[str] = "cloud1"

    def __init__(self, account: StrictCloud1) -> None:
        super().__init__()
        self.account = account
        self.hostname = "api.shop.test"
        made = account.client("route53").create_hosted_zone(Name="shop.test", CallerReference="1")
        self._zone = made["HostedZone"]["Id"]

    @property
    def environment(self) -> Mapping[str, str]:
        return self.account.environment

    def asked(self) -> int:
        return len(self.account.answers())

    def reset(self) -> None:
        self.account.reset()

    def there(self) -> Mapping[str, int]:
        checks = self.account.client("route53").list_health_checks()["HealthChecks"]
        sets = [row for row in self._rows() if row["Name"] == f"{self.hostname}."]
        return {"sets": len(sets), "checks": len(checks)}

    def take(self) -> None:
        self._put({"Name": f"{self.hostname}.", "Type": "CNAME", "TTL": 60})

    def take_beside_ours(self) -> None:
        row = {"Name": f"{self.hostname}.", "Type": "CNAME", "TTL": 60}
        self._put({**row, "SetIdentifier": "by-hand", "Weight": 100})

    def put_beside(self) -> None:
        self._put({"Name": "other.shop.test.", "Type": "CNAME", "TTL": 60})

    def _put(self, row: Mapping[str, object]) -> None:
        row = {"ResourceRecords": [{"Value": "elsewhere.example."}], **row}
        batch = {"Changes": [{"Action": "UPSERT", "ResourceRecordSet": row}]}
        client = self.account.client("route53")
        client.change_resource_record_sets(HostedZoneId=self._zone, ChangeBatch=batch)

    def _rows(self) -> list[dict[str, object]]:
        client = self.account.client("route53")
        return list(client.list_resource_record_sets(HostedZoneId=self._zone)["ResourceRecordSets"])

    def everything(self) -> object:
        return [row for row in self._rows() if row["Name"] != f"{self.hostname}."]

    def bend(self) -> None:
        row = next(one for one in self._rows() if one["Name"] == f"{self.hostname}.")
        self._put({**row, "Weight": 7})


class Edge1DnsSite(KeptNameSite):
    provider: ClassVar[str] = "edge1"

    def __init__(self, account: Edge1Server) -> None:
        super().__init__()
        self.account = account
        self.hostname = "api.example.test"

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.account.environment, "EDGE1_ZONE_ID": self.account.zone}

    def asked(self) -> int:
        return len(self.account.calls())

    def reset(self) -> None:
        self.account.reset()

    def there(self) -> Mapping[str, int]:
        return {kind: len(rows) for kind, rows in self.things().items()}

    def take(self) -> None:
        self._put_record(self.hostname)

    def put_beside(self) -> None:
        self._put_record("other.example.test")
        pool = {"name": "theirs", "origins": [{"name": "a", "address": "192.0.2.1"}]}
        self.account.api("POST", self._pools, pool)

    def _put_record(self, name: str) -> None:
        record = {"name": name, "type": "CNAME", "content": "elsewhere.example"}
        self.account.api("POST", f"/zones/{self.account.zone}/dns_records", record)

    @property
    def _pools(self) -> str:
        return f"/accounts/{self.account.account}/load_balancers/pools"

    def everything(self) -> object:
        pools = self.account.api("GET", self._pools)
        records = [one for one in self.records() if one["name"] != self.hostname]
        return [one for one in pools if one["name"] == "theirs"], records

    def things(self) -> dict[str, list[dict[str, object]]]:
        """All that load balancing has, by kind."""
        below = f"/accounts/{self.account.account}/load_balancers"
        zone = f"/zones/{self.account.zone}/load_balancers"
        paths = {"monitors": f"{below}/monitors", "pools": self._pools, "load_balancers": zone}
        return {kind: self.account.api("GET", path) for kind, path in paths.items()}

    def records(self) -> list[dict[str, Any]]:
        return list(self.account.api("GET", f"/zones/{self.account.zone}/dns_records"))

    def bend_settings(self) -> list[Callable[[], object]]:
        """What can be set otherwise by hand, each alone."""
        below, zone = self._pools.removesuffix("/pools"), self.account.zone
        changes: list[tuple[str, dict[str, object]]] = [
            (f"{below}/monitors", {"expected_codes": "5xx"}),
            (f"{below}/monitors", {"follow_redirects": False}),
            (f"{below}/monitors", {"allow_insecure": True}),
            (self._pools, {"origin_steering": {"policy": "hash"}}),
            (f"/zones/{zone}/load_balancers", {"steering_policy": "geo"}),
            (f"/zones/{zone}/load_balancers", {"session_affinity": "cookie"}),
            (f"/zones/{zone}/load_balancers", {"fallback_pool": self._other_pool()}),
        ]
        return [partial(self._set, path, change) for path, change in changes]

    def _other_pool(self) -> object:
        pool = {"name": "theirs", "origins": [{"name": "a", "address": "192.0.2.1"}]}
        return self.account.api("POST", self._pools, pool)["id"]

    def _set(self, path: str, change: dict[str, object]) -> None:
        found = next(one for one in self.account.api("GET", path) if one.get("description"))
        self.account.api("PUT", f"{path}/{found['id']}", {**found, **change})

    def bend(self) -> None:
        (pool,) = self.account.api("GET", self._pools)
        pool["origins"][0]["weight"] = 0.07
        self.account.api("PUT", f"{self._pools}/{pool['id']}", pool)


class Edge1PlainSite(Edge1DnsSite):
    """Without an account there is no load balancing."""

    tells_weights: ClassVar[bool] = False
    takes_others: ClassVar[bool] = False

    @property
    def environment(self) -> Mapping[str, str]:
        env = super().environment
        return {name: value for name, value in env.items() if name != "EDGE1_ACCOUNT_ID"}

    def there(self) -> Mapping[str, int]:
        return {"records": len(self.records())}

    def bend(self) -> None:
        (found,) = [one for one in self.records() if one["name"] == self.hostname]
        path = f"/zones/{self.account.zone}/dns_records/{found['id']}"
        self.account.api("PATCH", path, {"content": "elsewhere.example"})
