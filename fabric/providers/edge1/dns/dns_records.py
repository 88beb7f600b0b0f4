"""The desired records of a router on Cloudflare: a balancer or one plain record. No effects."""

from fabric.model.hashing import hash_fields
from fabric.model.routing.routing import (
    WHOLE,
    DesiredRouting,
    EndpointShare,
    RouterPart,
    RouterResource,
    Weights,
)

# Every endpoint is asked so often.
CHECK_SECONDS = 60
EXPECTED = "2xx"
# Each request goes by weight, whoever sends it.
BY_WEIGHT = "random"
# Pools are taken in their order, and there is one.
IN_ORDER = "off"


def plan_balancer(desired: DesiredRouting) -> tuple[RouterPart, ...]:
    """Plan the objects in dependency order."""
    if not desired.shares:
        return ()
    name = build_pool_name(desired.owner)
    has_monitor = bool(desired.check_path)
    origins = tuple(map(format_origin_detail, desired.shares))
    pool = RouterPart(
        RouterResource.POOL,
        name,
        format_pool_detail(origins, has_monitor=has_monitor),
        weights=desired.weights,
    )
    balancer = RouterPart(RouterResource.BALANCER, desired.hostname, format_balancer_detail(name))
    if not has_monitor:
        return pool, balancer
    monitor = RouterPart(
        RouterResource.MONITOR, name, format_monitor_detail(choose_monitor_path(desired))
    )
    return monitor, pool, balancer


def build_pool_name(owner: str) -> str:
    """Build a name with characters, digits, `_` and `-` only; a stage name can contain dots."""
    plain = owner.replace("/", "-")
    if "." in plain:
        plain = f"{plain.replace('.', '-')}-{hash_fields((owner,))[:8]}"
    return f"fabric-{plain}"


def format_ownership(owner: str) -> str:
    """Format the description that marks objects as ours."""
    return f"managed-by fabric {owner}"


def choose_monitor_path(desired: DesiredRouting) -> str:
    """Return the health path of the first endpoint, which is used for all."""
    return desired.join_health_path(desired.shares[0])


def format_monitor_detail(path: str) -> str:
    return f"GET {path} by https every {CHECK_SECONDS} s, expecting {EXPECTED} after redirects"


def format_origin_detail(share: EndpointShare) -> str:
    return f"{share.label}={share.host} {share.weight}%"


def format_pool_detail(origins: tuple[str, ...], *, has_monitor: bool) -> str:
    return f"origins {', '.join(origins)}; {'with' if has_monitor else 'without'} a monitor"


def format_balancer_detail(pool: str) -> str:
    return f"proxy in front of the pool {pool}"


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
