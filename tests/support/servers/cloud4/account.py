"""What each account has in its region: functions with versions, aliases and triggers; and what goes
wrong on purpose."""

import re
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


class RefusedError(Exception):
    def __init__(
        self, status: int, code: str, message: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers or {}

    @property
    def document(self) -> Row:
        return {"RequestId": new_id(), "Code": self.code, "Message": str(self)}


class CutError(Exception):
    """The connection ends without an answer."""


def invalid(message: str) -> RefusedError:
    return RefusedError(400, "InvalidArgument", message)


def gone(code: str, message: str) -> RefusedError:
    return RefusedError(404, code, message)


@dataclass
class HeldFunction:
    """`row` is what it is now: nobody meets that who meets a version."""

    row: Row
    code: bytes
    versions: dict[str, Row] = field(default_factory=dict)
    codes: dict[str, bytes] = field(default_factory=dict)
    aliases: dict[str, Row] = field(default_factory=dict)
    triggers: dict[str, Row] = field(default_factory=dict)
    counted: int = 0
    reserved: int | None = None

    def version_at(self, qualifier: str) -> str:
        """Empty is what it is now."""
        if qualifier in ("", "LATEST"):
            return ""
        if qualifier in self.aliases:
            return str(self.aliases[qualifier]["versionId"])
        if qualifier in self.versions:
            return qualifier
        raise gone("VersionNotFound", f"version or alias '{qualifier}' does not exist")

    def config_at(self, version: str) -> Row:
        return {**self.versions[version]["config"]} if version else self.row

    def code_at(self, version: str) -> bytes:
        return self.codes[version] if version else self.code


@dataclass
class Account:
    """One test has one."""

    ident: str
    key: str
    secret: str
    region: str
    endpoint: str
    functions: dict[str, HeldFunction] = field(default_factory=dict)
    calls: list[list[Any]] = field(default_factory=list)
    requests: list[Row] = field(default_factory=list)
    faults: list[Row] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=dict)
    nonces: set[str] = field(default_factory=set)
    is_slow: bool = False
    page: int = 2
    guard: threading.RLock = field(default_factory=threading.RLock)

    def function(self, name: str) -> HeldFunction:
        if name not in self.functions:
            raise gone("FunctionNotFound", f"function '{name}' does not exist")
        return self.functions[name]

    def arn(self, name: str) -> str:
        return f"acs:fc:{self.region}:{self.ident}:functions/{name}"

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
