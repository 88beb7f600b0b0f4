"""What Route 53 would hold: a weighted set of one record for each endpoint."""

from fabric.model.hashing import digest_fields
from fabric.model.routing import DesiredRouting, EndpointShare, RouterPart, RouterResource

_PREFIX = "fabric-"


def wanted_record_sets(desired: DesiredRouting) -> tuple[RouterPart, ...]:
    return tuple(_record_set(desired, one) for one in desired.shares)


def _record_set(desired: DesiredRouting, share: EndpointShare) -> RouterPart:
    text = f"{desired.ttl} CNAME {share.host}. weight {share.weight}"
    check = check_reference(desired, share)
    detail = f"{text} check {check}" if check else text
    name = f"{desired.hostname}. {set_identifier(share.label)}"
    weights = ((share.label, share.weight),)
    return RouterPart(RouterResource.DNS_RECORD, name, detail, weights=weights)


def set_identifier(label: str) -> str:
    return f"{_PREFIX}{label}"


def label_of(identifier: str) -> str:
    """Empty where the set is none of ours."""
    return identifier.removeprefix(_PREFIX) if identifier.startswith(_PREFIX) else ""


def check_reference(desired: DesiredRouting, share: EndpointShare) -> str:
    """What tells the check from every other one: made once, and found again by this."""
    if not desired.check_path:
        return ""
    return "fabric-" + digest_fields((desired.owner, share.host, desired.check_path))[:32]
