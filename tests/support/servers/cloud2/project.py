"""A project: its functions, the services under them, its jobs; and what was asked of it."""

import itertools
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.servers.cloud2.refusals import BuildFailedError
from tests.support.servers.cloud2.running import Instance

LATEST = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"
# So many looks until an operation is over.
_LOOKS = 2
_RUNNING = 6


@dataclass
class Pending:
    """An operation: it is over after so many looks at it, or at what it changes."""

    name: str
    act: Callable[[], dict[str, Any]]
    looks: int = _LOOKS
    done: bool = False
    result: dict[str, Any] = field(default_factory=dict)

    def look(self) -> dict[str, Any]:
        self.looks -= 1
        if self.looks <= 0 and not self.done:
            self.done = True
            try:
                self.result = {"response": self.act()}
            except BuildFailedError as error:
                self.result = {"error": {"code": 3, "message": str(error)}}
        return {"name": self.name, "done": self.done, **self.result}


@dataclass
class RevisionState:
    id: str
    created: str
    env: dict[str, str]
    instance: Instance
    image: str = ""


@dataclass
class ServiceState:
    """What Cloud Run has of a function."""

    name: str
    traffic: list[dict[str, Any]] = field(
        default_factory=lambda: [{"type": LATEST, "percent": 100}]
    )
    revisions: list[RevisionState] = field(default_factory=list)
    policy: dict[str, Any] = field(default_factory=lambda: {"version": 1, "etag": "ACAB"})
    # Of a service that is not a function's.
    document: dict[str, Any] | None = None
    pending: Pending | None = None

    def revision(self, ident: str) -> RevisionState | None:
        return next((one for one in self.revisions if one.id == ident), None)

    @property
    def met(self) -> RevisionState | None:
        most = max(self.traffic, key=lambda one: int(one.get("percent", 0)))
        return self.revision(most["revision"]) if "revision" in most else self.revisions[-1]


@dataclass
class FunctionState:
    document: dict[str, Any]
    state: str = "DEPLOYING"
    pending: Pending | None = None


@dataclass
class MetCall:
    """A call of a user's, and what was written meanwhile."""

    service: str
    at: int
    ms: float
    status: int
    lines: list[str]


class Cloud2Project:
    """`entries` and `traces` are what others have left there."""

    def __init__(self, ident: str, folder: Path, endpoint: str) -> None:
        self.id = ident
        self.folder = folder
        self.endpoint = endpoint
        self.functions: dict[str, FunctionState] = {}
        self.services: dict[str, ServiceState] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.event_triggers: dict[str, dict[str, Any]] = {}
        # Topics by name; buckets with their locations; secrets.
        self.topics: set[str] = set()
        self.buckets: dict[str, str] = {}
        self.secrets: dict[str, str] = {}
        self.uploads: dict[str, bytes] = {}
        self.operations: dict[str, Pending] = {}
        self.calls: list[tuple[str, str, int]] = []
        self.faults: list[dict[str, Any]] = []
        self.numbers = itertools.count(1)
        self.met: list[MetCall] = []
        self.entries: list[dict[str, Any]] = []
        self.traces: list[dict[str, Any]] = []

    @property
    def token(self) -> str:
        return f"tok-{self.id}"

    @property
    def account(self) -> str:
        """Whom functions run as that name nobody."""
        return f"{self.id}-compute@developer.gserviceaccount.com"

    def begun(self, place: str, act: Callable[[], dict[str, Any]], looks: int = _LOOKS) -> Pending:
        name = f"{place}/operations/{uuid.uuid4()}"
        self.operations[name] = Pending(name, act, looks)
        return self.operations[name]

    def url(self, name: str) -> str:
        return f"{self.endpoint}/met/{self.id}/{name}"

    def instances(self) -> Iterator[Instance]:
        for service in self.services.values():
            yield from (one.instance for one in service.revisions)

    def rest(self, busy: Instance) -> None:
        """Too many at a time are too much for one machine: they start again when they are met."""
        others = [one for one in self.instances() if one.child is not None and one is not busy]
        for one in others[: max(0, len(others) - _RUNNING)]:
            one.stop()

    def left(self) -> dict[str, list[str]]:
        found = {
            "functions": sorted(self.functions),
            "services": sorted(self.services),
            "jobs": sorted(name.rpartition("/")[2] for name in self.jobs),
            "events": sorted(name.rpartition("/")[2] for name in self.event_triggers),
            "callers": sorted(
                f"{name}: {member}"
                for name, one in self.services.items()
                for row in one.policy.get("bindings", ())
                for member in row.get("members", ())
            ),
        }
        return {kind: names for kind, names in found.items() if names}

    def stop(self) -> None:
        for one in self.instances():
            one.stop()
