"""The desired load balancing: a health monitor, a pool of weighted origins, and the balancer."""

from fabric.model.hashing import hash_fields
from fabric.model.routing import DesiredRouting, EndpointShare, RouterPart, RouterResource

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
