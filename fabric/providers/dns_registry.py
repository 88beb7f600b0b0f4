"""The table of DNS backends: required credentials, desired records, and how to open them."""

from collections.abc import Callable, Mapping
from importlib import import_module

from msgspec import Struct

from fabric.model.routing.routing import DesiredRouting, RouterPart
from fabric.providers.cloud1.dns_records import plan_record_sets
from fabric.providers.core.provider import ProviderContext
from fabric.providers.core.routes import DnsBackend
from fabric.providers.edge1.dns.dns_records import plan_alias, plan_balancer
from fabric.providers.pdns.desired import plan_rrset
from fabric.providers.zone_file.records import plan_zone_records


class DnsFacts(Struct, frozen=True, kw_only=True):
    """Facts of one DNS backend."""

    wanted: Callable[[DesiredRouting], tuple[RouterPart, ...]]
    # Enables real changes for this backend only.
    switch: str = ""
    # The required variables.
    credentials: tuple[str, ...] = ()
    # The fallback backend if some of them are missing; the fallback needs fewer.
    lesser: str = ""
    # The function that opens it: text, so that a command imports only the one that it uses.
    opener: str = ""

    @property
    def is_file(self) -> bool:
        return not self.switch

    def missing(self, env: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(name for name in self.credentials if not env.get(name))


DNS_FACTS: Mapping[str, DnsFacts] = {
    "local": DnsFacts(wanted=plan_zone_records),
    "edge1": DnsFacts(
        wanted=plan_balancer,
        switch="FABRIC_EDGE1_REAL_DEPLOY",
        credentials=("EDGE1_API_TOKEN", "EDGE1_ACCOUNT_ID", "EDGE1_ZONE_ID"),
        lesser="edge1-dns",
        opener="fabric.providers.edge1.dns.dns:open_edge1_routing",
    ),
    # Load balancing belongs to an account; records are a zone's own.
    "edge1-dns": DnsFacts(
        wanted=plan_alias,
        switch="FABRIC_EDGE1_REAL_DEPLOY",
        credentials=("EDGE1_API_TOKEN", "EDGE1_ZONE_ID"),
        opener="fabric.providers.edge1.dns.dns:open_edge1_plain_records",
    ),
    # Its client has ways of its own to find credentials.
    "cloud1": DnsFacts(
        wanted=plan_record_sets,
        switch="FABRIC_CLOUD1_REAL_DEPLOY",
        opener="fabric.providers.cloud1.dns:open_cloud1_routing",
    ),
    "pdns": DnsFacts(
        wanted=plan_rrset,
        switch="FABRIC_PDNS_REAL_DEPLOY",
        credentials=("PDNS_API_BASE_URL", "PDNS_API_KEY"),
        opener="fabric.providers.pdns.make:open_pdns_backend",
    ),
}


def choose_dns_kind(word: str, env: Mapping[str, str]) -> str:
    """Choose the backend that a config value means with the available credentials."""
    facts = DNS_FACTS[word]
    if facts.lesser and facts.missing(env) and not DNS_FACTS[facts.lesser].missing(env):
        return facts.lesser
    return word


def build_dns_backend(context: ProviderContext) -> DnsBackend:
    """Open the backend that `provider_id` names."""
    module, _, name = DNS_FACTS[context.provider_id].opener.partition(":")
    opened: Callable[[ProviderContext], DnsBackend] = getattr(import_module(module), name)
    return opened(context)
