"""The Route 53 backend: weighted record sets, changed in one atomic batch."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fabric.model.problems import Problem
from fabric.model.routing import (
    DesiredRouting,
    EndpointShare,
    RouterAction,
    RouterPart,
    RouterResource,
)
from fabric.providers.cloud1.answers import explained
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.cloud1.routing.wanted import (
    check_reference,
    part_name,
    record_detail,
    set_prefix,
    wanted_record_sets,
)
from fabric.providers.cloud1.routing.zones import FoundCheck, FoundSet, checks_in, sets_of, zone_of
from fabric.providers.contract import UNWATCHED
from fabric.providers.dns_contract import NotEverywhereError
from fabric.providers.redaction import Redaction
from fabric.providers.waiting import Waiting, until

_IN_SYNC = "INSYNC"
_WAITING = Waiting(base=0.5, cap=10.0, most=180.0)
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
        return wanted_record_sets(desired)

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        with self._client(desired.hostname) as client:
            found = sets_of(client, self._zone(client, desired.hostname), desired.hostname)
            is_checked = desired.check_path or any(one.check_id for one in found)
            checks = {one.ident: one for one in checks_in(client)} if is_checked and found else {}
        return (
            *(_part(one, desired, checks) for one in found),
            *_left_checks(checks.values(), desired),
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
        with self._client(desired.hostname) as client:
            checks = _checks(client, desired, shares)
            changes = [_upsert(desired, one, checks.get(one.label, "")) for one in shares]
            batch = {"Comment": f"managed-by fabric {desired.owner}", "Changes": changes}
            made = client.change_resource_record_sets(
                HostedZoneId=self._zone(client, desired.hostname), ChangeBatch=batch
            )
            _wait(client, made["ChangeInfo"])

    def _zone(self, client: Any, hostname: str) -> str:
        if hostname not in self._zones:
            self._zones[hostname] = zone_of(client, hostname)
        return self._zones[hostname]

    @contextlib.contextmanager
    def _client(self, hostname: str) -> Iterator[Any]:
        """Open a client with retries: the batch is idempotent."""
        with explained(f"the hostname `{hostname}` at AWS", self._hide.quoted):
            yield self._connect("").of("route53")


def _is_ours(one: FoundSet, desired: DesiredRouting) -> bool:
    return one.kind == "CNAME" and one.identifier.startswith(set_prefix(desired.owner))


def _part(one: FoundSet, desired: DesiredRouting, checks: Mapping[str, FoundCheck]) -> RouterPart:
    host = " ".join(one.values).rstrip(".")
    if not _is_ours(one, desired):
        # All sets of a name share its traffic: it stands where the first of ours is wanted.
        name = wanted_record_sets(desired)[0].name if desired.shares else one.name
        detail = f"{one.ttl} {one.kind} {host} {one.identifier}".rstrip()
        return RouterPart(RouterResource.DNS_RECORD, name, detail, is_ours=False)
    label = one.identifier.removeprefix(set_prefix(desired.owner))
    check = _check_told(checks.get(one.check_id), one.check_id, _wanted_check(desired, label))
    detail = record_detail(one.ttl, host, one.weight, check)
    name = part_name(desired.hostname, one.identifier)
    weights = ((label, one.weight),)
    return RouterPart(RouterResource.DNS_RECORD, name, detail, weights=weights)


def _left_checks(found: Iterable[FoundCheck], desired: DesiredRouting) -> Iterator[RouterPart]:
    """Yield health checks of earlier endpoints or paths: they keep running and cost money."""
    wanted = {check_reference(desired, one) for one in desired.shares}
    for one in found:
        if one.reference.startswith(set_prefix(desired.owner)) and one.reference not in wanted:
            asked = one.settings.get("FullyQualifiedDomainName", "")
            detail = f"checks {asked} at {one.settings.get('ResourcePath', '/')}"
            yield RouterPart(RouterResource.MONITOR, one.reference, detail, ident=one.ident)


def _wanted_check(desired: DesiredRouting, label: str) -> Mapping[str, Any]:
    """Build the changeable settings of a health check."""
    share = next((one for one in desired.shares if one.label == label), None)
    if share is None or not desired.check_path:
        return {}
    return {
        "FullyQualifiedDomainName": share.host,
        "ResourcePath": desired.checked_path(share),
        "Port": _HTTPS_PORT,
        "FailureThreshold": _FAILURES,
        "EnableSNI": True,
        "Inverted": False,
        "Disabled": False,
    }


def _check_told(found: FoundCheck | None, ident: str, wanted: Mapping[str, Any]) -> str:
    """Describe a health check: its reference and settings changed outside fabric."""
    if found is None:
        return ident
    changed = _changed(found, wanted)
    listed = ", ".join(f"{name} {found.settings.get(name)}" for name in changed)
    return f"{found.reference} ({listed})" if changed else found.reference


def _changed(found: FoundCheck, wanted: Mapping[str, Any]) -> tuple[str, ...]:
    """List settings that differ. A setting missing in the response is off."""
    return tuple(name for name, value in wanted.items() if found.settings.get(name, False) != value)


def _checks(
    client: Any, desired: DesiredRouting, shares: Sequence[EndpointShare]
) -> Mapping[str, str]:
    """Return the health check id of each endpoint; existing ones are found by reference."""
    if not desired.check_path:
        return {}
    known = {one.reference: one for one in checks_in(client)}
    return {one.label: _check(client, desired, one, known) for one in shares}


def _check(
    client: Any, desired: DesiredRouting, share: EndpointShare, known: Mapping[str, FoundCheck]
) -> str:
    reference, wanted = check_reference(desired, share), _wanted_check(desired, share.label)
    if found := known.get(reference):
        if changed := _changed(found, wanted):
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


def _upsert(desired: DesiredRouting, share: EndpointShare, check: str) -> dict[str, Any]:
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

    if not until(look, _WAITING, UNWATCHED):
        message = "the DNS change was accepted and is not on all name servers yet"
        hint = "wait: until then, name servers return the previous weights"
        raise NotEverywhereError(Problem("router/not-in-sync", message, hint))
