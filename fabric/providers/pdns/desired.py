"""The desired PowerDNS records: one record set whose answers are chosen by weight."""

from fabric.model.routing.routing import DesiredRouting, RouterPart, RouterResource


def plan_rrset(desired: DesiredRouting) -> tuple[RouterPart, ...]:
    if not desired.shares:
        return ()
    name = f"{desired.hostname}."
    detail = f"{desired.ttl} {record_type(desired)} {format_content(desired)}"
    return (RouterPart(RouterResource.DNS_RECORD, name, detail, weights=desired.weights),)


def record_type(desired: DesiredRouting) -> str:
    """Return the record type: a plain CNAME if there is only one endpoint."""
    return "LUA" if len(desired.shares) > 1 else "CNAME"


def format_content(desired: DesiredRouting) -> str:
    if record_type(desired) == "CNAME":
        return f"{desired.shares[0].host}."
    choices = ",".join(f"{{{one.weight},'{one.host}.'}}" for one in desired.shares)
    return f'CNAME "pickwrandom({{{choices}}})"'
