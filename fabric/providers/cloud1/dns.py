"""Open the Route 53 backend of routers from the environment."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.routing.routing import (
    DesiredRouting,
    EndpointShare,
    RouterAction,
    RouterPart,
    RouterResource,
)
from fabric.providers.cloud1.core.client import Cloud1Clients, convert_client_errors
from fabric.providers.cloud1.dns_records import (
    check_reference,
    format_part_name,
    plan_record_sets,
    record_detail,
    set_prefix,
)
from fabric.providers.cloud1.provider import build_client_factory
from fabric.providers.core.contract import NO_CONTEXT
from fabric.providers.core.provider import ProviderContext
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.retry import RetryPolicy, poll_until
from fabric.providers.core.routes import NotEverywhereError

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


_IN_SYNC = "INSYNC"
_WAITING = RetryPolicy(base=0.5, cap=10.0, most=180.0)
_HTTPS_PORT = 443
_CHECK_SECONDS = 30
_FAILURES = 3


class Cloud1Routing:
    """The Route 53 backend. `hide` holds values that no message can show."""

    kind = "cloud1"
    place = "Route 53"

    def __init__(self, connect: Callable[[str], Cloud1Clients], hide: Redaction) -> None:
        self._connect = connect
        self._hide = hide
        self._zones: dict[str, str] = {}

    def close(self) -> None:
        """Do nothing: the owner of the shared connection closes it."""

    def want(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        return plan_record_sets(desired)

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        with self._open_client(desired.hostname) as client:
            found = list_record_sets(
                client, self._find_hosted_zone(client, desired.hostname), desired.hostname
            )
            is_checked = desired.check_path or any(one.check_id for one in found)
            checks = (
                {one.ident: one for one in list_health_checks(client)}
                if is_checked and found
                else {}
            )
        return (
            *(_build_part(one, desired, checks) for one in found),
            *_list_stale_checks(checks.values(), desired),
        )

    def apply(self, desired: DesiredRouting, actions: Sequence[RouterAction]) -> None:
        changed = {one.name for one in actions if one.changes}
        shares = [
            share
            for part, share in zip(self.want(desired), desired.shares, strict=True)
            if part.name in changed
        ]
        if not shares:
            return
        with self._open_client(desired.hostname) as client:
            checks = _ensure_checks(client, desired, shares)
            changes = [_build_upsert(desired, one, checks.get(one.label, "")) for one in shares]
            batch = {"Comment": f"managed-by fabric {desired.owner}", "Changes": changes}
            made = client.change_resource_record_sets(
                HostedZoneId=self._find_hosted_zone(client, desired.hostname), ChangeBatch=batch
            )
            _wait(client, made["ChangeInfo"])

    def _find_hosted_zone(self, client: Any, hostname: str) -> str:
        if hostname not in self._zones:
            self._zones[hostname] = find_zone(client, hostname)
        return self._zones[hostname]

    @contextlib.contextmanager
    def _open_client(self, hostname: str) -> Iterator[Any]:
        """Open a client with retries: the batch is idempotent."""
        with convert_client_errors(f"the hostname `{hostname}` at AWS", self._hide.quote):
            yield self._connect("").of("route53")


def _is_ours(one: FoundSet, desired: DesiredRouting) -> bool:
    return one.kind == "CNAME" and one.identifier.startswith(set_prefix(desired.owner))


def _build_part(
    one: FoundSet, desired: DesiredRouting, checks: Mapping[str, FoundCheck]
) -> RouterPart:
    host = " ".join(one.values).rstrip(".")
    if not _is_ours(one, desired):
        # All sets of a name share its traffic: it stands where the first of ours is wanted.
        name = plan_record_sets(desired)[0].name if desired.shares else one.name
        detail = f"{one.ttl} {one.kind} {host} {one.identifier}".rstrip()
        return RouterPart(RouterResource.DNS_RECORD, name, detail, is_ours=False)
    label = one.identifier.removeprefix(set_prefix(desired.owner))
    check = _describe_check(
        checks.get(one.check_id), one.check_id, _build_check_config(desired, label)
    )
    detail = record_detail(one.ttl, host, one.weight, check)
    name = format_part_name(desired.hostname, one.identifier)
    weights = ((label, one.weight),)
    return RouterPart(RouterResource.DNS_RECORD, name, detail, weights=weights)


def _list_stale_checks(
    found: Iterable[FoundCheck], desired: DesiredRouting
) -> Iterator[RouterPart]:
    """Yield health checks of earlier endpoints or paths: they keep running and cost money."""
    wanted = {check_reference(desired, one) for one in desired.shares}
    for one in found:
        if one.reference.startswith(set_prefix(desired.owner)) and one.reference not in wanted:
            asked = one.settings.get("FullyQualifiedDomainName", "")
            detail = f"checks {asked} at {one.settings.get('ResourcePath', '/')}"
            yield RouterPart(RouterResource.MONITOR, one.reference, detail, ident=one.ident)


def _build_check_config(desired: DesiredRouting, label: str) -> Mapping[str, Any]:
    """Build the changeable settings of a health check."""
    share = next((one for one in desired.shares if one.label == label), None)
    if share is None or not desired.check_path:
        return {}
    return {
        "FullyQualifiedDomainName": share.host,
        "ResourcePath": desired.join_health_path(share),
        "Port": _HTTPS_PORT,
        "FailureThreshold": _FAILURES,
        "EnableSNI": True,
        "Inverted": False,
        "Disabled": False,
    }


def _describe_check(found: FoundCheck | None, ident: str, wanted: Mapping[str, Any]) -> str:
    """Describe a health check: its reference and settings changed outside fabric."""
    if found is None:
        return ident
    changed = _list_changed_settings(found, wanted)
    listed = ", ".join(f"{name} {found.settings.get(name)}" for name in changed)
    return f"{found.reference} ({listed})" if changed else found.reference


def _list_changed_settings(found: FoundCheck, wanted: Mapping[str, Any]) -> tuple[str, ...]:
    """List settings that differ. A setting missing in the response is off."""
    return tuple(name for name, value in wanted.items() if found.settings.get(name, False) != value)


def _ensure_checks(
    client: Any, desired: DesiredRouting, shares: Sequence[EndpointShare]
) -> Mapping[str, str]:
    """Return the health check id of each endpoint; existing ones are found by reference."""
    if not desired.check_path:
        return {}
    known = {one.reference: one for one in list_health_checks(client)}
    return {one.label: _check(client, desired, one, known) for one in shares}


def _check(
    client: Any, desired: DesiredRouting, share: EndpointShare, known: Mapping[str, FoundCheck]
) -> str:
    reference, wanted = check_reference(desired, share), _build_check_config(desired, share.label)
    if found := known.get(reference):
        if changed := _list_changed_settings(found, wanted):
            settings = {name: wanted[name] for name in changed}
            client.update_health_check(HealthCheckId=found.ident, **settings)
        return found.ident
    made = client.create_health_check(
        CallerReference=reference,
        HealthCheckConfig={
            "Type": "HTTPS",
            "RequestInterval": _CHECK_SECONDS,
            **wanted,
        },
    )
    return str(made["HealthCheck"]["Id"])


def _build_upsert(desired: DesiredRouting, share: EndpointShare, check: str) -> dict[str, Any]:
    return {
        "Action": "UPSERT",
        "ResourceRecordSet": {
            "Name": f"{desired.hostname}.",
            "Type": "CNAME",
            "SetIdentifier": set_prefix(desired.owner) + share.label,
            "Weight": share.weight,
            "TTL": desired.ttl,
            "ResourceRecords": [{"Value": f"{share.host}."}],
            **({"HealthCheckId": check} if check else {}),
        },
    }


def _wait(client: Any, change: Mapping[str, Any]) -> None:
    """Wait until all name servers have the change."""

    def look() -> bool | None:
        return client.get_change(Id=change["Id"])["ChangeInfo"]["Status"] == _IN_SYNC or None

    if not poll_until(look, _WAITING, NO_CONTEXT):
        message = "the DNS change was accepted and is not on all name servers yet"
        hint = "wait: until then, name servers return the previous weights"
        raise NotEverywhereError(Problem("router/not-in-sync", message, hint))


def open_cloud1_routing(context: ProviderContext) -> Cloud1Routing:
    return Cloud1Routing(build_client_factory(context), context.build_redaction())
