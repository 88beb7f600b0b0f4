"""What edge1 would hold: a monitor that asks, a pool of weighted origins, and the balancer."""

from fabric.model.hashing import digest_fields
from fabric.model.routing import DesiredRouting, EndpointShare, RouterPart, RouterResource

# Who answers slowly or not at all is asked so often.
CHECK_SECONDS = 60
_STEERING = {"failover": "off", "latency": "dynamic_latency"}


def wanted_balancer(desired: DesiredRouting) -> tuple[RouterPart, ...]:
    """In the order in which one needs the other."""
    if not desired.shares:
        return ()
    name = pool_name(desired.owner)
    balancer = RouterPart(
        RouterResource.BALANCER,
        desired.hostname,
        balancer_detail(name, desired.ttl, steering(desired)),
    )
    pool = RouterPart(
        RouterResource.POOL,
        name,
        pool_detail(desired.shares, has_monitor=bool(desired.check_path)),
        weights=desired.weights,
    )
    if not desired.check_path:
        return pool, balancer
    monitor = RouterPart(RouterResource.MONITOR, name, monitor_detail(desired.check_path))
    return monitor, pool, balancer


def pool_name(owner: str) -> str:
    """Letters, digits, `_` and `-` only; a stage may have dots."""
    plain = owner.replace("/", "-")
    if "." in plain:
        plain = f"{plain.replace('.', '-')}-{digest_fields((owner,))[:8]}"
    return f"fabric-{plain}"


def managed_by(owner: str) -> str:
    """What stands in the description of what is ours."""
    return f"managed-by fabric {owner}"


def steering(desired: DesiredRouting) -> str:
    return _STEERING.get(desired.strategy, "random")


def monitor_detail(path: str) -> str:
    return f"GET {path} by https every {CHECK_SECONDS} s"


def pool_detail(shares: tuple[EndpointShare, ...], *, has_monitor: bool) -> str:
    origins = ", ".join(f"{one.label}={one.host} {one.weight}%" for one in shares)
    return f"origins {origins}; {'with' if has_monitor else 'without'} a monitor"


def balancer_detail(pool: str, ttl: int, policy: str) -> str:
    return f"pool {pool}; ttl {ttl}; steering {policy}"
