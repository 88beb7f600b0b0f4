"""What each namespace has: packages, actions, triggers, rules, activations, alarms; and what goes
wrong on purpose."""

import re
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


class RefusedError(Exception):
    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class CutError(Exception):
    """The connection ends without an answer."""


@dataclass
class Namespace:
    """One test has one. Actions are named with their package."""

    name: str
    key: str
    token: str
    packages: dict[str, Row] = field(default_factory=dict)
    actions: dict[str, Row] = field(default_factory=dict)
    triggers: dict[str, Row] = field(default_factory=dict)
    rules: dict[str, Row] = field(default_factory=dict)
    activations: dict[str, Row] = field(default_factory=dict)
    alarms: dict[str, Row] = field(default_factory=dict)
    schedules: dict[str, Row] = field(default_factory=dict)
    calls: list[list[Any]] = field(default_factory=list)
    requests: list[Row] = field(default_factory=list)
    faults: list[Row] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=dict)
    has_alarms: bool = True
    host: str = ""
    guard: threading.RLock = field(default_factory=threading.RLock)

    def planned(self, method: str, path: str) -> Row | None:
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


def _fits(fault: Row, method: str, path: str) -> bool:
    is_method = fault.get("method", method) == method
    is_kind = not (fault.get("changing") and method == "GET")
    return is_method and is_kind and re.search(fault.get("path", ""), path) is not None


def new_id() -> str:
    return uuid.uuid4().hex


def pairs_of(rows: list[Row]) -> dict[str, Any]:
    """Annotations or parameters by their names."""
    return {one["key"]: one.get("value") for one in rows}
