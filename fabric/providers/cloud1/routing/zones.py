"""Route 53 responses as values: the zone of a hostname, its record sets, and health checks."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from fabric.model.problems import FabricError, Problem

# An alias may stand beside none of these.
_ADDRESSES = frozenset(("A", "AAAA", "CNAME"))


class FoundSet(Struct, frozen=True):
    """One record set of a hostname."""

    name: str
    kind: str
    # Empty if the set is not weighted.
    identifier: str
    weight: int
    ttl: int
    values: tuple[str, ...]
    check_id: str


def find_zone(client: Any, hostname: str) -> str:
    """Find the closest public zone above a hostname. At the zone apex, CNAME records are
    impossible."""
    found: dict[str, str] = {}
    for page in client.get_paginator("list_hosted_zones").paginate():
        for zone in page["HostedZones"]:
            if not zone.get("Config", {}).get("PrivateZone"):
                found.setdefault(zone["Name"].rstrip(".").lower(), zone["Id"])
    labels = hostname.split(".")
    above = (".".join(labels[start:]) for start in range(len(labels)))
    closest = next((name for name in above if name in found), "")
    if not closest:
        message = f"no public hosted zone of the account contains `{hostname}`"
        raise FabricError(
            Problem("router/no-zone", message, "create the hosted zone, or correct `hostname`")
        )
    if closest == hostname:
        message = f"`{hostname}` is the apex of its zone, where no alias is possible"
        hint = f"choose a name below it, such as `api.{hostname}`"
        raise FabricError(Problem("router/apex", message, hint))
    return found[closest]


def list_record_sets(client: Any, zone: str, hostname: str) -> tuple[FoundSet, ...]:
    """List the conflicting record sets of a hostname. The API sorts them by name."""
    wanted = f"{hostname}."
    found: list[FoundSet] = []
    for page in client.get_paginator("list_resource_record_sets").paginate(
        HostedZoneId=zone, StartRecordName=wanted
    ):
        for row in page["ResourceRecordSets"]:
            if _unescape_name(row["Name"]) != wanted:
                return tuple(found)
            if row["Type"] in _ADDRESSES:
                found.append(_parse_record_set(row))
    return tuple(found)


def _unescape_name(name: str) -> str:
    """Unescape the wildcard of a record name."""
    return name.replace("\\052", "*").lower()


def _parse_record_set(row: Mapping[str, Any]) -> FoundSet:
    values = tuple(str(one["Value"]) for one in row.get("ResourceRecords", ()))
    target = row.get("AliasTarget", {}).get("DNSName", "")
    return FoundSet(
        name=_unescape_name(row["Name"]),
        kind=row["Type"],
        identifier=row.get("SetIdentifier", ""),
        weight=int(row.get("Weight", 0)),
        ttl=int(row.get("TTL", 0)),
        values=values or ((f"alias {target}",) if target else ()),
        check_id=row.get("HealthCheckId", ""),
    )


class FoundCheck(Struct, frozen=True):
    """An existing health check. `reference` was set at creation; `settings` are its changeable
    settings."""

    ident: str
    reference: str
    settings: Mapping[str, Any]


def list_health_checks(client: Any) -> Iterator[FoundCheck]:
    for page in client.get_paginator("list_health_checks").paginate():
        for one in page["HealthChecks"]:
            yield FoundCheck(one["Id"], one["CallerReference"], one.get("HealthCheckConfig", {}))
