"""The stored form of a lock: holder, start time and fencing token."""

import datetime
import json
from typing import TypeVar

from msgspec import Struct, convert, to_builtins

from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.problems import Problem
from fabric.model.records.record import RecordRef
from fabric.system.clock import Clock
from fabric.system.process.process_identity import Process

Form = TypeVar("Form")


class LockHolder(Struct, frozen=True):
    """A lock holder. The times are for people only, because clocks of machines differ."""

    id: str
    ref: RecordRef
    operation: str
    process: Process
    fence: int
    created_at: str
    heartbeat_at: str = ""
    expires_at: str = ""


class _Proof(Struct, frozen=True):
    """Process facts with which another process on this host can detect a dead holder."""

    boot: str = ""
    namespace: str = ""
    started: int = 0


_NO_PROOF = _Proof()


class _HeldLock(Struct, frozen=True, rename="camel"):
    """A held lock, in file order."""

    id: str
    service: str
    stage: str
    provider: str
    operation: str
    who: str
    pid: int
    created_at: str
    heartbeat_at: str
    expires_at: str
    fence: int
    process: _Proof | None = _NO_PROOF


class _Mark(Struct, frozen=True):
    """The fields of every lock, held or free."""

    fence: int = 0
    free: object = None


def describe_holder(holder: LockHolder) -> JsonObject:
    """Describe a holder for people."""
    document: dict[str, Json] = to_builtins(_encode_holder(holder))
    del document["process"]
    return document


def encode_lock(holder: LockHolder) -> bytes:
    return json.dumps(to_builtins(_encode_holder(holder))).encode()


def decode_lock(content: bytes) -> LockHolder | None:
    """Decode the lock holder. Returns None if the lock is free or unreadable."""
    if _mark(content).free:
        return None
    found = _parse_document(content, _HeldLock)
    return _decode_holder(found) if found else None


def encode_free(fence: int) -> bytes:
    """Encode a free lock. It keeps the fence, so that the next holder's fence is higher."""
    return json.dumps({"free": True, "fence": fence}).encode()


def free_lock(content: bytes) -> int:
    """The fence that a lock has reached, held or free."""
    return _mark(content).fence


def _mark(content: bytes) -> _Mark:
    return _parse_document(content, _Mark) or _Mark()


def _encode_holder(holder: LockHolder) -> _HeldLock:
    process = holder.process
    return _HeldLock(
        holder.id,
        *(holder.ref.service, holder.ref.stage, holder.ref.provider),
        holder.operation,
        process.who,
        process.pid,
        holder.created_at,
        holder.heartbeat_at,
        holder.expires_at,
        holder.fence,
        _Proof(process.boot, process.namespace, process.started),
    )


def _decode_holder(held: _HeldLock) -> LockHolder:
    user, _, host = held.who.rpartition("@")
    proof = held.process or _NO_PROOF
    process = Process(
        user=user,
        host=host,
        pid=held.pid,
        boot=proof.boot,
        namespace=proof.namespace,
        started=proof.started,
    )
    return LockHolder(
        id=held.id,
        ref=RecordRef(held.service, held.stage, held.provider),
        operation=held.operation,
        process=process,
        fence=held.fence,
        created_at=held.created_at,
        heartbeat_at=held.heartbeat_at,
        expires_at=held.expires_at,
    )


def _parse_document(content: bytes, form: type[Form]) -> Form | None:
    try:
        return convert(json.loads(content), form)
    except (ValueError, RecursionError):
        return None


def record_options(ref: RecordRef) -> str:
    """How a command names a record from its config's own folder."""
    return f"--stage {ref.stage} --provider {ref.provider}"


def lock_conflict_problem(
    ref: RecordRef, holder: LockHolder | None, clock: Clock, options: str
) -> Problem:
    """Return the lock conflict: holder, age and remedy. `options` select the record."""
    by = f" by {holder.process.who} (pid {holder.process.pid})" if holder else ""
    doing = f" for `{holder.operation}`" if holder else ""
    age = f", {_format_age(holder.created_at, clock)} ago" if holder else ""
    return Problem(
        "lock/held",
        f"{ref.title} is locked{by}{doing}{age}",
        hint=f"wait with --lock-timeout 2m, or if the process is dead run: "
        f"fabric state force-unlock --service {ref.service} {options}",
    )


def _format_age(created_at: str, clock: Clock) -> str:
    try:
        since = clock.now() - datetime.datetime.fromisoformat(created_at)
    except ValueError:
        return "some time"
    seconds = max(0, round(since.total_seconds()))
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"  # noqa: PLR2004
