"""The table of DNS backends: required credentials, desired records, and how to open them."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from fabric.model.routing import DesiredRouting, RouterPart
from fabric.providers.cloud1.routing.desired import plan_record_sets
from fabric.providers.connections import Connections
from fabric.providers.dns_contract import DnsBackend
from fabric.providers.edge1.routing.desired import plan_balancer
from fabric.providers.edge1.routing.plain_record import plan_alias
from fabric.providers.pdns.desired import plan_rrset
from fabric.providers.zone_file.records import plan_zone_records


class DnsFacts(Struct, frozen=True):
    """Facts of one DNS backend."""

    wanted: Callable[[DesiredRouting], tuple[RouterPart, ...]]
    # Enables real changes for this backend only.
    switch: str = ""
    # The required variables.
    credentials: tuple[str, ...] = ()
    # The fallback backend if some of them are missing; the fallback needs fewer.
    lesser: str = ""

    @property
    def is_file(self) -> bool:
        return not self.switch

    def missing(self, env: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(name for name in self.credentials if not env.get(name))


DNS_FACTS: Mapping[str, DnsFacts] = {
    "local": DnsFacts(plan_zone_records),
    "edge1": DnsFacts(
        plan_balancer,
        "FABRIC_EDGE1_REAL_DEPLOY",
        ("EDGE1_API_TOKEN", "EDGE1_ACCOUNT_ID", "EDGE1_ZONE_ID"),
        "edge1-dns",
    ),
    # Load balancing belongs to an account; records are a zone's own.
    "edge1-dns": DnsFacts(
        plan_alias, "FABRIC_EDGE1_REAL_DEPLOY", ("EDGE1_API_TOKEN", "EDGE1_ZONE_ID")
    ),
    "cloud1": DnsFacts(
        # Its client has ways of its own to find credentials.
        plan_record_sets,
        "FABRIC_CLOUD1_REAL_DEPLOY",
    ),
    "pdns": DnsFacts(plan_rrset, "FABRIC_PDNS_REAL_DEPLOY", ("PDNS_API_BASE_URL", "PDNS_API_KEY")),
}


def choose_dns_kind(word: str, env: Mapping[str, str]) -> str:
    """Choose the backend that a config value means with the available credentials."""
    facts = DNS_FACTS[word]
    if facts.lesser and facts.missing(env) and not DNS_FACTS[facts.lesser].missing(env):
        return facts.lesser
    return word


def build_dns_backend(
    kind: str,
    env: Mapping[str, str],
    connections: Connections,
) -> DnsBackend:
    return _OPENERS[kind](env, connections)


def _open_pdns(env: Mapping[str, str], connections: Connections) -> DnsBackend:
    from fabric.providers.pdns.make import open_pdns_backend

    return open_pdns_backend(env, connections)


def _open_cloud1(env: Mapping[str, str], connections: Connections) -> DnsBackend:
    from fabric.providers.cloud1.routing.make import open_cloud1_routing

    return open_cloud1_routing(env, connections)


def _open_edge1(env: Mapping[str, str], connections: Connections) -> DnsBackend:
    from fabric.providers.edge1.routing.make import open_edge1_routing

    return open_edge1_routing(env, connections)


def _open_edge1_dns(env: Mapping[str, str], connections: Connections) -> DnsBackend:
    from fabric.providers.edge1.routing.make import open_edge1_plain_records

    return open_edge1_plain_records(env, connections)


_OPENERS: Mapping[str, Callable[[Mapping[str, str], Connections], DnsBackend]] = {
    "pdns": _open_pdns,
    "cloud1": _open_cloud1,
    "edge1": _open_edge1,
    "edge1-dns": _open_edge1_dns,
}
