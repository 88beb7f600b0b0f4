"""What one access key owns: an account of its own, so that tests never see each other.

A test has a key id of its own. Its functions, its counted calls and its planned faults are its
account's; moto is told the account's number, and keeps what it holds apart in the same way.
"""

import hashlib
import threading
from dataclasses import dataclass, field

from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.faults import Faults
from tests.support.servers.strict_cloud1.functions import Function, Reference
from tests.support.servers.strict_cloud1.gateways import Domain, Gateway
from tests.support.servers.strict_cloud1.machines import Machine
from tests.support.servers.strict_cloud1.refusals import not_found
from tests.support.servers.strict_cloud1.rest_apis import RestApi, RestPlans
from tests.support.servers.strict_cloud1.stacks import Stack


@dataclass
class EventSourceMapping:
    """`transition` is its state until it was looked at so often; messages do not wait for that."""

    shown: Fields
    looks: int = 0
    transition: str = ""

    @property
    def is_leaving(self) -> bool:
        return self.transition == "Deleting"

    @property
    def is_enabled(self) -> bool:
        return not self.is_leaving and self.shown["State"] == "Enabled"


@dataclass
class LayerVersion:
    """A deleted one cannot be attached any more, and its number is never used again."""

    shown: Fields
    content: bytes
    is_deleted: bool = False


@dataclass
class Repository:
    """One of ECR's; its images are in the account's registry."""

    arn: str
    tags: dict[str, str]


@dataclass
class Region:
    """`server` is the address that is told to whoever asks where an API answers."""

    account: "Account"
    name: str
    server: str
    functions: dict[str, Function] = field(default_factory=dict)
    layers: dict[str, LayerVersion] = field(default_factory=dict)
    mappings: dict[str, EventSourceMapping] = field(default_factory=dict)
    gateways: dict[str, Gateway] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    rest_apis: dict[str, RestApi] = field(default_factory=dict)
    rest_plans: RestPlans = field(default_factory=RestPlans)
    repositories: dict[str, Repository] = field(default_factory=dict)
    stacks: list[Stack] = field(default_factory=list)
    machines: dict[str, Machine] = field(default_factory=dict)

    def has_layer(self, arn: str) -> bool:
        return arn in self.layers and not self.layers[arn].is_deleted

    def function_arn(self, name: str, qualifier: str = "") -> str:
        base = f"arn:aws:lambda:{self.name}:{self.account.number}:function:{name}"
        return f"{base}:{qualifier}" if qualifier else base

    def function(self, reference: Reference) -> Function:
        if reference.name not in self.functions:
            raise not_found(f"Function not found: {self.function_arn(*reference)}")
        return self.functions[reference.name]


@dataclass
class Account:
    key: str
    number: str
    looks: int = 1
    # Host and port of the registry that stands for ECR's.
    registry: str = ""
    regions: dict[str, Region] = field(default_factory=dict)
    calls: list[tuple[str, int]] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    log_turn: threading.Lock = field(default_factory=threading.Lock)

    def region(self, name: str, server: str) -> Region:
        return self.regions.setdefault(name, Region(self, name, server))


@dataclass
class Accounts:
    by_key: dict[str, Account] = field(default_factory=dict)
    # The public keys of issuers of tokens, as PEM by the id of the key.
    issuers: dict[str, dict[str, str]] = field(default_factory=dict)

    def of(self, key: str) -> Account:
        if key not in self.by_key:
            self.by_key[key] = Account(key, _number(key))
        return self.by_key[key]

    def numbered(self, number: str) -> Account | None:
        return next((one for one in self.by_key.values() if one.number == number), None)

    def gateway(self, ident: str) -> tuple[Region, Gateway] | None:
        for account in list(self.by_key.values()):
            for region in list(account.regions.values()):
                if ident in region.gateways:
                    return region, region.gateways[ident]
        return None

    def rest_api(self, ident: str) -> tuple[Region, RestApi] | None:
        for account in list(self.by_key.values()):
            for region in list(account.regions.values()):
                if ident in region.rest_apis:
                    return region, region.rest_apis[ident]
        return None

    def mapped(self, host: str, path: str) -> tuple[Fields, str] | None:
        """The mapping by which a domain name leads to an API, and the path below its key."""
        for account in list(self.by_key.values()):
            for region in list(account.regions.values()):
                hit = region.domains[host].mapped(path) if host in region.domains else None
                if hit:
                    return hit
        return None


def _number(key: str) -> str:
    """Twelve digits, the same for a key each time."""
    digest = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8])
    return str(100_000_000_000 + digest % 900_000_000_000)
