"""Load balancing documents of the Cloudflare API, for requests and responses."""

from collections.abc import Mapping

from msgspec import Struct, field

from fabric.model.routing.routing import DesiredRouting, EndpointShare
from fabric.providers.edge1.dns.dns_records import (
    BY_WEIGHT,
    CHECK_SECONDS,
    EXPECTED,
    IN_ORDER,
    build_pool_name,
    choose_alias_ttl,
    choose_monitor_path,
    format_ownership,
    record_comment,
)

# Of these one name has one kind only.
ADDRESS_TYPES = ("A", "AAAA", "CNAME")
# Weights are parts of one, with two decimals.
_WHOLE = 100


class MonitorRow(Struct, frozen=True):
    id: str
    description: str = ""
    type: str = ""
    method: str = "GET"
    path: str = ""
    interval: int = 0
    expected_codes: str = ""
    follow_redirects: bool = False
    allow_insecure: bool = False

    @property
    def detail(self) -> str:
        """The detail text in the format of `monitor_detail`, with all differences."""
        text = f"{self.method} {self.path} by {self.type} every {self.interval} s"
        text += f", expecting {self.expected_codes or 'any response'}"
        text += " after redirects" if self.follow_redirects else ""
        return text + (", with any certificate" if self.allow_insecure else "")


class OriginRow(Struct, frozen=True):
    name: str = ""
    address: str = ""
    weight: float = 1.0
    enabled: bool = True
    header: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def percent(self) -> int:
        return round(self.weight * _WHOLE)

    @property
    def detail(self) -> str:
        """The detail text in the format of `origin_detail`, with all differences."""
        text = f"{self.name}={self.address} {self.percent}%"
        asked_as = " ".join(self.header.get("Host", ()))
        other = (
            "" if asked_as == self.address else (f" with the host {asked_as or 'of the request'}")
        )
        return text + other + ("" if self.enabled else " disabled")


class SteeringRow(Struct, frozen=True):
    policy: str = ""


class PoolRow(Struct, frozen=True):
    id: str
    name: str
    description: str = ""
    enabled: bool = True
    monitor: str | None = ""
    origins: tuple[OriginRow, ...] = ()
    origin_steering: SteeringRow | None = None

    @property
    def steering(self) -> str:
        return (self.origin_steering.policy if self.origin_steering else "") or BY_WEIGHT


class BalancerRow(Struct, frozen=True):
    id: str
    name: str
    description: str = ""
    enabled: bool = True
    proxied: bool = False
    default_pools: tuple[str, ...] = ()
    fallback_pool: str | None = None
    steering_policy: str | None = ""
    session_affinity: str | None = ""

    @property
    def oddities(self) -> tuple[str, ...]:
        """Settings changed outside fabric that affect callers."""
        steered = self.steering_policy or IN_ORDER
        sticky = self.session_affinity or "none"
        found = {
            "not proxied, or disabled": not (self.proxied and self.enabled),
            f"steering policy {steered}": steered != IN_ORDER,
            "another fallback pool": self.fallback_pool not in self.default_pools,
            f"session affinity {sticky}": sticky != "none",
        }
        return tuple(text for text, is_so in found.items() if is_so)


class DnsRow(Struct, frozen=True):
    id: str
    name: str
    type: str
    content: str = ""
    ttl: int = 0
    proxied: bool = False
    comment: str | None = ""


def build_monitor_document(desired: DesiredRouting) -> Mapping[str, object]:
    return {
        "type": "https",
        "method": "GET",
        "path": choose_monitor_path(desired),
        "interval": CHECK_SECONDS,
        "expected_codes": EXPECTED,
        "follow_redirects": True,
        "allow_insecure": False,
        "description": format_ownership(desired.owner),
    }


def build_pool_document(desired: DesiredRouting, monitor: str) -> Mapping[str, object]:
    return {
        "name": build_pool_name(desired.owner),
        "description": format_ownership(desired.owner),
        "enabled": True,
        "monitor": monitor,
        "origins": [_build_origin(one) for one in desired.shares],
        "origin_steering": {"policy": BY_WEIGHT},
    }


def _build_origin(share: EndpointShare) -> Mapping[str, object]:
    """Build an origin with its own host header: an endpoint answers only to its own hostname."""
    return {
        "name": share.label,
        "address": share.host,
        "enabled": True,
        "weight": share.weight / _WHOLE,
        "header": {"Host": [share.host]},
    }


def build_balancer_document(desired: DesiredRouting, pool: str) -> Mapping[str, object]:
    return {
        "name": desired.hostname,
        "description": format_ownership(desired.owner),
        "enabled": True,
        "proxied": True,
        "default_pools": [pool],
        "fallback_pool": pool,
        "steering_policy": IN_ORDER,
        "session_affinity": "none",
    }


def record_document(desired: DesiredRouting) -> Mapping[str, object]:
    return {
        "name": desired.hostname,
        "type": "CNAME",
        "content": desired.heaviest.host,
        "ttl": choose_alias_ttl(desired),
        "proxied": False,
        "comment": record_comment(desired.owner),
    }
