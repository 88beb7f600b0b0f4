"""What the server knows: one resource group for each test, with its apps and storage accounts."""

import base64
import hashlib
import io
import json
import threading
import time
import uuid
import zipfile
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers.planned_faults import PlannedFaults


@dataclass
class Blob:
    content: bytes
    metadata: dict[str, str]


@dataclass(kw_only=True)
class Storage:
    name: str
    group: str
    tags: dict[str, str] = field(default_factory=dict)
    key: bytes = field(default_factory=lambda: uuid.uuid4().bytes)
    containers: dict[str, dict[str, Blob]] = field(default_factory=dict)
    queues: set[str] = field(default_factory=set)
    # Subscriptions of Event Grid, by name.
    subscriptions: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def key_text(self) -> str:
        return base64.b64encode(self.key).decode()


@dataclass
class Deployment:
    """One publication. It is looked at so often before it is over."""

    ident: str
    package: bytes
    looks: int
    unseen: int
    status: int = 2
    text: str = ""


@dataclass(kw_only=True)
class Site:
    name: str
    document: dict[str, Any]
    settings: dict[str, str]
    tags: dict[str, str]
    package: bytes = b""
    # The package whose triggers the platform knows, outside of Flex Consumption.
    synced: bytes = b""
    deployments: dict[str, Deployment] = field(default_factory=dict)
    master_key: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def is_flex(self) -> bool:
        return "functionAppConfig" in self.document["properties"]

    @property
    def running(self) -> Deployment | None:
        return next((one for one in self.deployments.values() if one.status in (0, 1, 2)), None)

    @property
    def host(self) -> str:
        """Names of new apps get a part that nobody can guess."""
        part = hashlib.sha256(self.name.lower().encode()).hexdigest()[:8]
        return f"{self.name.lower()}-{part}.azurewebsites.test"

    @property
    def scm(self) -> str:
        name, _, rest = self.host.partition(".")
        return f"{name}.scm.{rest}"

    def files(self) -> dict[str, bytes]:
        if not self.package:
            return {}
        with zipfile.ZipFile(io.BytesIO(self.package)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def functions(self) -> dict[str, Any]:
        """The functions of the published package, by name."""
        found = self.files() if self.is_flex or self.synced == self.package else {}
        return {
            path.partition("/")[0]: json.loads(text)
            for path, text in found.items()
            if path.endswith("/function.json") and path.count("/") == 1
        }


@dataclass(kw_only=True)
class Group(PlannedFaults):
    """One test has one resource group in a subscription of its own."""

    subscription: str = field(default_factory=lambda: str(uuid.uuid4()))
    tenant: str = field(default_factory=lambda: str(uuid.uuid4()))
    client: str = field(default_factory=lambda: str(uuid.uuid4()))
    secret: str = field(default_factory=lambda: f"secret~{uuid.uuid4().hex}")
    name: str = "rg-fabric"
    location: str = "westeurope"
    exists: bool = True
    # Whether the subscription may use Event Grid.
    is_grid_registered: bool = True
    tokens: dict[str, str] = field(default_factory=dict)
    plans: dict[str, dict[str, Any]] = field(default_factory=dict)
    sites: dict[str, Site] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)
    # Operations that are not over: how often each is still looked at.
    operations: dict[str, int] = field(default_factory=dict)
    # How often operations and deployments are looked at before they are over.
    looks: int = 0
    # How many reads of a new deployment are answered with 404.
    unseen: int = 0
    # What a deployment or an operation ends with.
    failure: str = ""
    calls: list[list[Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    guard: threading.RLock = field(default_factory=threading.RLock)
    started: float = field(default_factory=time.monotonic)

    @property
    def site(self) -> Site | None:
        return next(iter(self.sites.values()), None)
