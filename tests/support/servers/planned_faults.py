"""What goes wrong on purpose: which call meets it, and how."""

import re
from dataclasses import dataclass, field
from typing import Any


class RefusedError(Exception):
    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class CutError(Exception):
    """The connection ends without an answer."""


@dataclass
class PlannedFaults:
    faults: list[dict[str, Any]] = field(default_factory=list)

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


def cut(fault: dict[str, Any]) -> None:
    if "status" in fault:
        raise RefusedError(fault["status"], fault.get("message", "planned"), fault.get("headers"))
    raise CutError
