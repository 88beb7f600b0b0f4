"""What each app has: its machines, leases, secrets and addresses, and what goes wrong."""

import itertools
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers.planned_faults import PlannedFaults

_NUMBERS = itertools.count()


def _stamp() -> str:
    """A later one each time."""
    return f"2026-01-01T00:00:00.{next(_NUMBERS):09d}Z"


GONE = frozenset(("destroyed", "destroying"))


@dataclass
class Lease:
    nonce: str
    ends: float
    description: str
    owner: str = "somebody@example.test"

    def shown(self) -> dict[str, Any]:
        return {
            "nonce": self.nonce,
            "expires_at": round(self.ends),
            "owner": self.owner,
            "description": self.description,
        }


@dataclass
class Machine:
    """`unseen` is in how many lists it is missing, `looks` how often it is read before it is
    ready."""

    id: str
    name: str
    region: str
    config: dict[str, Any]
    is_cordoned: bool
    state: str = "created"
    unseen: int = 0
    looks: int = 0
    exit_code: int | None = None
    is_requested: bool = False
    # False from its creation with `skip_launch` to its first start.
    is_launched: bool = True
    instance: str = field(default_factory=lambda: uuid.uuid4().hex[:26].upper())
    lease: Lease | None = None
    created_at: str = field(default_factory=_stamp)

    @property
    def metadata(self) -> dict[str, str]:
        found: dict[str, str] = self.config.setdefault("metadata", {})
        return found

    @property
    def is_serving(self) -> bool:
        return bool(self.config.get("services"))

    @property
    def check_path(self) -> str:
        (service,) = self.config["services"]
        return str(service["checks"][0]["path"])

    def held(self) -> Lease | None:
        if self.lease is not None and self.lease.ends < time.monotonic():
            self.lease = None
        return self.lease

    def shown(self, *, is_passing: bool, knows_cordons: bool) -> dict[str, Any]:
        events: list[dict[str, Any]] = []
        if self.exit_code is not None:
            ended = {
                "exit_code": self.exit_code,
                "oom_killed": False,
                "requested_stop": self.is_requested,
            }
            events.append({"type": "exit", "status": "stopped", "request": {"exit_event": ended}})
        events.append({"type": "launch", "status": "created", "request": {}})
        status = "passing" if is_passing else "critical"
        check = {"name": "servicecheck-00-http-8080", "status": status, "output": ""}
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "region": self.region,
            "created_at": self.created_at,
            "instance_id": self.instance,
            "config": self.config,
            "checks": [check] if self.state == "started" and self.is_serving else [],
            "events": events,
            "host_status": "ok",
            **({"cordoned": self.is_cordoned} if knows_cordons else {}),
        }


@dataclass(kw_only=True)
class App(PlannedFaults):
    """One test has one app, and a token for it. The newest machine is the last."""

    name: str
    token: str
    org: str = "personal"
    exists: bool = True
    machines: dict[str, Machine] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    addresses: list[str] = field(default_factory=list)
    certificates: set[str] = field(default_factory=set)
    # New machines: in how many lists they are missing, and how often they are read before they are
    # ready; and what their process says instead of running.
    lag: int = 0
    looks: int = 0
    failure: str = ""
    # A machine is read, and missing, once after it was made.
    is_late: bool = False
    # Calls of one action in a second; 0 is any number.
    rate: float = 0.0
    # Whether answers have `cordoned`.
    knows_cordons: bool = False
    # Calls that each action has left, and when they were counted.
    tokens: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    calls: list[list[Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    guard: threading.RLock = field(default_factory=threading.RLock)

    @property
    def there(self) -> list[Machine]:
        return [one for one in self.machines.values() if one.state not in GONE]


def new_id() -> str:
    return uuid.uuid4().hex[:14]
