"""The desired Route 53 records: one weighted record set per endpoint."""

from fabric.model.hashing import hash_fields
from fabric.model.routing.routing import (
    DesiredRouting,
    EndpointShare,
    RouterPart,
    RouterResource,
)

_LETTERS = 8
# A reference has room for 64 letters in all.
_CHECK_LETTERS = 32


def plan_record_sets(desired: DesiredRouting) -> tuple[RouterPart, ...]:
    return tuple(_record_set(desired, one) for one in desired.shares)


def _record_set(desired: DesiredRouting, share: EndpointShare) -> RouterPart:
    detail = record_detail(desired.ttl, share.host, share.weight, check_reference(desired, share))
    name = format_part_name(desired.hostname, set_prefix(desired.owner) + share.label)
    weights = ((share.label, share.weight),)
    return RouterPart(RouterResource.DNS_RECORD, name, detail, weights=weights)


def format_part_name(hostname: str, identifier: str) -> str:
    return f"{hostname}. {identifier}"


def record_detail(ttl: int, host: str, weight: int, check: str) -> str:
    text = f"{ttl} CNAME {host}. weight {weight}"
    return f"{text} check {check}" if check else text


def set_prefix(owner: str) -> str:
    """Return the identifier prefix of a service and stage. Labels could collide with other
    services."""
    return f"fabric-{hash_fields((owner,))[:_LETTERS]}-"


def check_reference(desired: DesiredRouting, share: EndpointShare) -> str:
    """Return the unique reference of a health check, used to create it once and find it again.

    It begins with the common prefix, so that unused checks are recognized as ours.
    """
    if not desired.check_path:
        return ""
    digest = hash_fields((desired.owner, share.host, desired.join_health_path(share)))
    return set_prefix(desired.owner) + digest[:_CHECK_LETTERS]
