"""What each site has: its deploys with their functions, and what goes wrong on purpose."""

import threading
import uuid
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers.host2.redirects import Redirect
from tests.support.servers.planned_faults import PlannedFaults


@dataclass
class SiteDeploy:
    """`looks` is how often it is looked at before it is ready."""

    id: str
    title: str | None
    body: dict[str, Any]
    required: list[str]
    required_files: list[str] = field(default_factory=list)
    state: str = "uploading"
    looks: int = 0
    error: str = ""
    runtimes: dict[str, str] = field(default_factory=dict)
    redirects: list[Redirect] = field(default_factory=list)

    @property
    def functions(self) -> dict[str, str]:
        return dict(self.body.get("functions", {}))

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "state": self.state,
            "title": self.title,
            "draft": bool(self.body.get("draft")),
            "required": list(self.required_files),
            "required_functions": list(self.required),
            "error_message": self.error or None,
            "function_schedules": self.body.get("function_schedules", []),
        }


@dataclass(kw_only=True)
class Site(PlannedFaults):
    """One test has one site, and a token for it. The newest deploy is the last."""

    id: str
    base: str
    token: str
    deploys: dict[str, SiteDeploy] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    published: str = ""
    looks: int = 0
    failure: str = ""
    calls: list[list[Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=dict)
    guard: threading.RLock = field(default_factory=threading.RLock)

    @property
    def url(self) -> str:
        return f"{self.base}/met/{self.id}"

    @property
    def shown_deploy(self) -> SiteDeploy | None:
        return self.deploys.get(self.published)


def new_id() -> str:
    return uuid.uuid4().hex[:24]
