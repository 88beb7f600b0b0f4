"""What each project has: its deployments with their files, and what goes wrong on purpose."""

import itertools
import json
import re
import tempfile
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OUTPUT = ".vercel/output/"
_FUNCTION = re.compile(re.escape(OUTPUT) + r"functions/(.+?)\.func/(.+)")


class RefusedError(Exception):
    def __init__(
        self, status: int, code: str, message: str, more: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers: dict[str, str] = {}
        self.said = {"error": {"code": code, "message": message, **(more or {})}}


class CutError(Exception):
    """The connection ends without an answer."""


@dataclass
class HostDeployment:
    """`looks` is how often it is looked at before it is ready."""

    id: str
    created: int
    url: str
    body: dict[str, Any]
    state: str = "QUEUED"
    substate: str | None = None
    looks: int = 0
    error: str = ""

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        return {one["file"]: one for one in self.body.get("files", ())}

    @property
    def functions(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Each with its files, by their paths inside of it."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for path, row in self.files.items():
            hit = _FUNCTION.fullmatch(path)
            if hit:
                found.setdefault(hit[1], {})[hit[2]] = row
        return found


@dataclass
class HostProject:
    """One test has one project of one team, and a token for it. The newest deployment is the
    last."""

    id: str
    team: str
    token: str
    endpoint: str
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="host1-")))
    root_directory: str | None = None
    domains: list[dict[str, Any]] = field(default_factory=list)
    deployments: dict[str, HostDeployment] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    current: str = ""
    looks: int = 0
    failure: str = ""
    is_small_plan: bool = False
    calls: list[list[Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    guard: threading.RLock = field(default_factory=threading.RLock)
    clock: Iterator[int] = field(default_factory=lambda: itertools.count(1_700_000_000_000))

    @property
    def name(self) -> str:
        return f"name-of-{self.id}"

    @property
    def shown(self) -> HostDeployment | None:
        return self.deployments.get(self.current)

    def blob(self, row: Mapping[str, Any]) -> bytes:
        return self.blobs[row["sha"]]

    def config(self, deployment: HostDeployment) -> dict[str, Any]:
        """Of a build's output; empty where there is none."""
        row = deployment.files.get(f"{OUTPUT}config.json")
        return dict(json.loads(self.blob(row))) if row else {}

    def log(self, function: str) -> Path:
        return self.folder / f"{function}.log"

    def planned(self, method: str, path: str) -> dict[str, Any] | None:
        """The fault that this call meets; each is met `times` times after `skip` that fit."""
        for fault in self.faults:
            if not _fits(fault, method, path) or fault.get("times", 1) < 1:
                continue
            if fault.get("skip", 0) > 0:
                fault["skip"] -= 1
                continue
            fault["times"] = fault.get("times", 1) - 1
            return fault
        return None


def _fits(fault: dict[str, Any], method: str, path: str) -> bool:
    is_method = fault.get("method", method) == method
    is_kind = not (fault.get("changing") and method == "GET")
    return is_method and is_kind and re.search(fault.get("path", ""), path) is not None


def new_id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:24]}"
