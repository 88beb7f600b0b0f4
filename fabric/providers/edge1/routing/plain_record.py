"""The desired record without load balancing: one CNAME, which has no weights."""

from fabric.model.hashing import hash_fields
from fabric.model.routing import (
    WHOLE,
    DesiredRouting,
    EndpointShare,
    RouterPart,
    RouterResource,
    Weights,
)
from fabric.providers.edge1.routing.desired import format_ownership

# An answer is kept no shorter and no longer than so many seconds there.
_SHORTEST_TTL = 60
_LONGEST_TTL = 86_400
# A comment of a record has room for so much.
_LONGEST_COMMENT = 100
_LETTERS = 16


def plan_alias(desired: DesiredRouting) -> tuple[RouterPart, ...]:
    if not desired.shares:
        return ()
    detail = format_alias_detail(choose_alias_ttl(desired), "CNAME", desired.heaviest.host)
    return (RouterPart(RouterResource.DNS_RECORD, desired.hostname, detail),)


def choose_alias_ttl(desired: DesiredRouting) -> int:
    return min(max(desired.ttl, _SHORTEST_TTL), _LONGEST_TTL)


def format_alias_detail(ttl: int, kind: str, host: str) -> str:
    return f"{ttl} {kind} {host}"


def record_comment(owner: str) -> str:
    """Return the comment of a record of ours; a long name is replaced by its hash."""
    plain = format_ownership(owner)
    if len(plain.encode()) <= _LONGEST_COMMENT:
        return plain
    return format_ownership(hash_fields((owner,))[:_LETTERS])


def derive_weights(host: str, shares: tuple[EndpointShare, ...]) -> Weights:
    """Derive weights from a CNAME, which shows only the endpoint with the most weight.

    The other weights are as equal as possible. The target stays the heaviest, also on a machine
    without more information.
    """
    first = next((one.label for one in shares if one.host == host), None)
    if first is None:
        return ()
    others = len(shares) - 1
    each = max(1, (WHOLE - 1) // len(shares))
    return tuple(
        (one.label, WHOLE - each * others if one.label == first else each) for one in shares
    )
