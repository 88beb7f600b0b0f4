"""A lock as it is stored: who holds it, since when, and with which fence."""

import datetime
import json
from typing import Any

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.records.record import RecordRef
from fabric.system.clock import Clock
from fabric.system.process_identity import Process


class LockHolder(Struct, frozen=True):
    """The times are for people: nobody decides by another machine's clock."""

    id: str
    ref: RecordRef
    operation: str
    process: Process
    fence: int
    created_at: str
    heartbeat_at: str = ""
    expires_at: str = ""


def holder_document(holder: LockHolder) -> dict[str, Any]:
    return {
        "id": holder.id,
        "service": holder.ref.service,
        "stage": holder.ref.stage,
        "provider": holder.ref.provider,
        "operation": holder.operation,
        "who": holder.process.who,
        "pid": holder.process.pid,
        "createdAt": holder.created_at,
        "heartbeatAt": holder.heartbeat_at,
        "expiresAt": holder.expires_at,
        "fence": holder.fence,
    }


def encode_lock(holder: LockHolder) -> bytes:
    process = holder.process
    proof = {"boot": process.boot, "namespace": process.namespace, "started": process.started}
    return json.dumps({**holder_document(holder), "process": proof}).encode()


def decode_lock(content: bytes) -> LockHolder | None:
    """Who holds it; None when it is free, or when nobody can be made out."""
    document = _parsed(content)
    if document.get("free") or "id" not in document:
        return None
    try:
        return _holder(document)
    except (KeyError, TypeError, ValueError):
        return None


def encode_free(fence: int) -> bytes:
    """A lock that nobody holds. The fence stays behind, so that the next holder's is above it."""
    return json.dumps({"free": True, "fence": fence}).encode()


def free_lock(content: bytes) -> int:
    """The fence that a lock has reached, held or free."""
    fence = _parsed(content).get("fence", 0)
    return fence if isinstance(fence, int) else 0


def _holder(document: dict[str, Any]) -> LockHolder:
    user, _, host = str(document["who"]).rpartition("@")
    proof = document.get("process") or {}
    process = Process(
        user,
        host,
        int(document["pid"]),
        str(proof.get("boot", "")),
        str(proof.get("namespace", "")),
        int(proof.get("started", 0)),
    )
    ref = RecordRef(*(str(document[name]) for name in ("service", "stage", "provider")))
    return LockHolder(
        str(document["id"]),
        ref,
        str(document["operation"]),
        process,
        int(document["fence"]),
        str(document["createdAt"]),
        str(document["heartbeatAt"]),
        str(document["expiresAt"]),
    )


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def record_options(ref: RecordRef) -> str:
    """How a command names a record from its config's own folder."""
    return f"--stage {ref.stage} --provider {ref.provider}"


def held_problem(ref: RecordRef, holder: LockHolder | None, clock: Clock, options: str) -> Problem:
    """Who is in the way, for how long, and what to do about it; `options` name the record."""
    by = f" by {holder.process.who} (pid {holder.process.pid})" if holder else ""
    doing = f" for `{holder.operation}`" if holder else ""
    age = f", {_age(holder.created_at, clock)} ago" if holder else ""
    return Problem(
        "lock/held",
        f"{ref.title} is locked{by}{doing}{age}",
        hint=f"wait with --lock-timeout 2m; if that process is gone: fabric state force-unlock "
        f"--service {ref.service} {options}",
    )


def _age(created_at: str, clock: Clock) -> str:
    try:
        since = clock.now() - datetime.datetime.fromisoformat(created_at)
    except ValueError:
        return "some time"
    seconds = max(0, round(since.total_seconds()))
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"  # noqa: PLR2004
