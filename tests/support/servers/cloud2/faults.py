"""What goes wrong on purpose: see `Cloud2Server.fault`."""

import re
from typing import Any

from tests.support.servers.cloud2.project import Cloud2Project
from tests.support.servers.cloud2.refusals import CutOffError, RefusedRequestError


def planned(project: Cloud2Project, method: str, path: str) -> dict[str, Any] | None:
    """The fault that this call meets; each is met `times` times after `skip` calls that fit."""
    for fault in project.faults:
        if fault.get("method", method) != method or (fault.get("changing") and method == "GET"):
            continue
        if not re.search(fault.get("path", ""), path):
            continue
        if fault.get("skip", 0) > 0:
            fault["skip"] -= 1
            continue
        if fault.setdefault("times", 1) < 1:
            continue
        fault["times"] -= 1
        return fault
    return None


def begun(fault: dict[str, Any] | None) -> None:
    """Before a call is carried out."""
    if fault is None or fault.get("after") or fault.get("half"):
        return
    if "status" not in fault:
        raise CutOffError
    word, message = fault.get("word", "UNAVAILABLE"), fault.get("message", "planned")
    raise RefusedRequestError(fault["status"], word, message, fault.get("reason", ""))


def ended(fault: dict[str, Any] | None, content: bytes) -> None:
    """After it."""
    if fault is not None and fault.get("after"):
        raise CutOffError
    if fault is not None and fault.get("half"):
        raise CutOffError(content[: len(content) // 2])
