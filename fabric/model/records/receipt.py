"""The receipt of a stage and the deploy record of a provider, for people and scripts."""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct, to_builtins

from fabric.model.records.record import FunctionRecord, Mode, Record, RecordRef
from fabric.model.records.record_document import triggers_of

RECEIPT_VERSION = 2
Entry: TypeAlias = dict[str, object]


class ReceiptFunction(Struct, frozen=True, rename="camel"):
    name: str
    resource_name: str
    resource_id: str
    endpoint: str
    handler: str
    triggers: list[object]
    updated_at: str
    runtime: str
    timeout: int


class ReceiptEntry(Struct, frozen=True, rename="camel"):
    """One deployment. `artifacts` are the archive hashes by function."""

    service: str
    provider: str
    deployment_id: str
    mode: Mode
    endpoint: str
    outputs: dict[str, str]
    functions: list[ReceiptFunction]
    artifacts: dict[str, str]
    updated_at: str


class Receipt(Struct, frozen=True):
    stage: str
    deployments: list[ReceiptEntry]


def receipt_of(record: Record) -> ReceiptEntry:
    # Whether one without an archive is there, nobody knows: its first deploy failed on the way.
    functions = [one for one in record.functions if one.artifact_sha256]
    return ReceiptEntry(
        service=record.ref.service,
        provider=record.ref.provider,
        deployment_id=record.deployment_id,
        mode=record.mode,
        endpoint=record.endpoint,
        outputs=dict(record.outputs),
        functions=[_function(one) for one in functions],
        artifacts={one.name: one.artifact_sha256 for one in functions},
        updated_at=record.updated_at,
    )


def receipt_entry(record: Record) -> Entry:
    entry: Entry = to_builtins(receipt_of(record))
    return entry


def _function(one: FunctionRecord) -> ReceiptFunction:
    settings = dict(one.settings)
    return ReceiptFunction(
        name=one.name,
        resource_name=one.resource_name,
        resource_id=one.resource_id,
        endpoint=one.endpoint,
        handler=one.handler,
        triggers=triggers_of(one),
        updated_at=one.updated_at,
        runtime=settings.get("runtime", ""),
        timeout=int(settings.get("timeout") or 0),
    )


def with_entry(document: object, stage: str, entry: Entry) -> Entry:
    """The receipt with this service and provider in it as they are now."""
    rest = [one for one in entries_of(document) if not _same(one, entry)]
    return _document(stage, [*rest, entry])


def without_entry(document: object, stage: str, service: str, provider: str) -> Entry | None:
    """Remove a service and provider from the receipt. Returns None if it is then empty."""
    gone: Entry = {"service": service, "provider": provider}
    rest = [one for one in entries_of(document) if not _same(one, gone)]
    return _document(stage, rest) if rest else None


def entries_of(document: object) -> list[Entry]:
    """List the deployments of a receipt; empty for an invalid receipt."""
    if not isinstance(document, dict):
        return []
    found = document.get("deployments")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def describes(document: object, ref: RecordRef) -> bool:
    """Return whether a deploy record has this record's service and stage."""
    if not isinstance(document, dict):
        return False
    return (document.get("service"), document.get("stage")) == (ref.service, ref.stage)


def _document(stage: str, entries: Sequence[Entry]) -> Entry:
    ordered = sorted(entries, key=lambda one: (str(one.get("service")), str(one.get("provider"))))
    return {"version": RECEIPT_VERSION, "stage": stage, "deployments": ordered}


def _same(one: Entry, other: Entry) -> bool:
    return all(one.get(name) == other[name] for name in ("service", "provider"))
