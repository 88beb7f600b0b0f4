"""One hostname for several endpoints: desired state, backend state and actions."""

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.names import Digest
from fabric.model.routing.hosts import extract_path, extract_routable_host

# What all weights add up to: they are read as percent.
WHOLE = 100
# Who keeps the name; the first one where the config does not say.
ROUTER_BACK_ENDS = ("edge1", "cloud1", "pdns", "local")
# The back ends that ask endpoints how they are, and take out who is down, where checks are wanted.
WITH_CHECKS = ("edge1", "cloud1")
# Their records have no weights that resolvers heed: the name leads to the heaviest alone.
LED_TO_ONE = ("edge1-dns", "local")
Weights: TypeAlias = tuple[tuple[str, int], ...]


class EndpointShare(Struct, frozen=True):
    """One endpoint and its weight."""

    label: str
    url: str
    weight: int

    @property
    def host(self) -> str:
        """Return the host of letters, digits, `-`, `_` and dots only; empty otherwise."""
        return extract_routable_host(self.url)


class DesiredRouting(Struct, frozen=True):
    """The desired routing of a hostname."""

    hostname: str
    # The service and stage.
    owner: str
    shares: tuple[EndpointShare, ...]
    ttl: int
    strategy: str = ""
    # The health check path; empty to disable checks.
    check_path: str = ""

    @property
    def weights(self) -> Weights:
        return list_weights(self.shares)

    @property
    def heaviest(self) -> EndpointShare:
        """Return the endpoint with the highest weight, for backends that support only one."""
        return max(self.shares, key=lambda one: one.weight)

    def join_health_path(self, share: EndpointShare) -> str:
        """Return the health check path below the endpoint's own path."""
        own = extract_path(share.url) if self.check_path else ""
        if not own:
            return self.check_path
        return f"/{own}" if self.check_path == "/" else f"/{own}{self.check_path}"

    @property
    def digest(self) -> Digest:
        shares = (text for one in self.shares for text in (one.label, one.url, str(one.weight)))
        own = (self.hostname, self.owner, str(self.ttl), self.strategy, self.check_path)
        return hash_fields((*own, *shares))


def list_weights(shares: tuple[EndpointShare, ...]) -> Weights:
    return tuple((one.label, one.weight) for one in shares)


class RouterResource(StrEnum):
    """The kinds of resources at a DNS backend."""

    DNS_RECORD = "dns_record"
    MONITOR = "lb_monitor"
    POOL = "lb_pool"
    BALANCER = "load_balancer"


class RouterPart(Struct, frozen=True):
    """One resource at a DNS backend, current or desired."""

    resource: RouterResource
    name: str
    # Has all compared facts.
    detail: str
    is_ours: bool = True
    # The backend's id.
    ident: str = ""
    # Those of its labels.
    weights: Weights = ()

    @property
    def key(self) -> tuple[RouterResource, str]:
        return self.resource, self.name


class RouterVerb(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    NO_OP = "no-op"
    DELETE_CANDIDATE = "delete-candidate"


CHANGING = (RouterVerb.CREATE, RouterVerb.UPDATE)


class RouterAction(Struct, frozen=True):
    """The action for one resource. Deletion candidates are never changed."""

    resource: RouterResource
    action: RouterVerb
    name: str
    detail: str
    ident: str = ""

    @property
    def changes(self) -> bool:
        return self.action in CHANGING
