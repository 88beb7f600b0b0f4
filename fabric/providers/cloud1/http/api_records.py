"""The Route 53 records of the domain of an HTTP API: aliases to its address."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from fabric.providers.cloud1.core.client import ignore_codes
from fabric.providers.cloud1.core.versions import Cloud1Work

_KINDS = ("A", "AAAA")
_CONFLICTING = frozenset((*_KINDS, "CNAME"))
_MISSING_ZONE = frozenset(("NoSuchHostedZone",))
Row = Mapping[str, Any]


class RecordSite(Struct, frozen=True):
    """A name in a hosted zone."""

    zone: str
    name: str


def fetch_records(work: Cloud1Work, site: RecordSite) -> list[Row]:
    """Return the address records of the name. The API sorts records by name."""
    pages = work.clients.of("route53").get_paginator("list_resource_record_sets")
    return list(
        _take_records(pages.paginate(HostedZoneId=site.zone, StartRecordName=site.name), site)
    )


def _take_records(pages: Any, site: RecordSite) -> Iterator[Row]:
    for page in pages:
        for row in page["ResourceRecordSets"]:
            if _normalize(row["Name"]) != site.name:
                return
            if row["Type"] in _CONFLICTING:
                yield row


def _normalize(name: str) -> str:
    """Return the name without its final period, and with the wildcard as a character."""
    return name.rstrip(".").replace("\\052", "*").lower()


def read_alias(record: Row) -> str:
    """Return the target of an alias record; empty for another record."""
    return _normalize((record.get("AliasTarget") or {}).get("DNSName", ""))


def has_aliases(records: list[Row], target: str) -> bool:
    """Return whether both alias records point at the target."""
    return {row["Type"] for row in records if read_alias(row) == target} >= set(_KINDS)


def put_aliases(work: Cloud1Work, site: RecordSite, target: Row) -> None:
    """Create or change both alias records. `target` are the address and zone of the domain."""
    alias = {
        "DNSName": target["ApiGatewayDomainName"],
        "HostedZoneId": target["HostedZoneId"],
        "EvaluateTargetHealth": False,
    }
    rows = [{"Name": site.name, "Type": kind, "AliasTarget": alias} for kind in _KINDS]
    _change_records(work, site, "UPSERT", rows)
    work.scope.watch.hear(f"records of `{site.name}` now point to {alias['DNSName']}")


def delete_aliases(work: Cloud1Work, site: RecordSite, target: str) -> None:
    """Delete the alias records that point at the target, and no others."""
    with ignore_codes(_MISSING_ZONE):
        rows = [row for row in fetch_records(work, site) if read_alias(row) == target]
        if rows:
            _change_records(work, site, "DELETE", rows)


def _change_records(work: Cloud1Work, site: RecordSite, action: str, rows: list[Any]) -> None:
    work.clients.of("route53").change_resource_record_sets(
        HostedZoneId=site.zone,
        ChangeBatch={"Changes": [{"Action": action, "ResourceRecordSet": row} for row in rows]},
    )
