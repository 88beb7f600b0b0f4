"""The receipt of a stage and the deploy record of a provider, for people and scripts."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, to_builtins

from fabric.model.records.record import FunctionRecord, Mode, Record, RecordRef
from fabric.model.records.record_document import list_trigger_documents

RECEIPT_VERSION = 2
Entry: TypeAlias = dict[str, object]


class ReceiptFunction(Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    resource_name: str
    resource_id: str
    endpoint: str
    handler: str
    triggers: list[object]
    updated_at: str
    runtime: str
    timeout: int
    # The hashes of the archives of its layers that fabric published.
    layer_archives: list[str] = []


class ReceiptEntry(Struct, frozen=True, rename="camel"):
    """One deployment."""

    service: str
    provider: str
    deployment_id: str
    mode: Mode
    endpoint: str
    outputs: dict[str, str]
    functions: list[ReceiptFunction]
    # The archive hashes by function.
    artifacts: dict[str, str]
    updated_at: str


class Receipt(Struct, frozen=True):
    stage: str
    deployments: list[ReceiptEntry]


def decode_record_receipt(record: Record) -> ReceiptEntry:
    # Whether one without an archive is there, nobody knows: its first deploy failed on the way.
    functions = [one for one in record.functions if one.artifact_sha256]
    archives = {one.address: one.artifact_sha256 for one in record.layers}
    return ReceiptEntry(
        service=record.ref.service,
        provider=record.ref.provider,
        deployment_id=record.deployment_id,
        mode=record.mode,
        endpoint=record.endpoint,
        outputs=dict(record.outputs),
        functions=[_encode_function(one, archives) for one in functions],
        artifacts={one.name: one.artifact_sha256 for one in functions},
        updated_at=record.updated_at,
    )


def encode_receipt_entry(record: Record) -> Entry:
    entry: Entry = to_builtins(decode_record_receipt(record))
    return entry


def _encode_function(one: FunctionRecord, archives: Mapping[str, str]) -> ReceiptFunction:
    settings = dict(one.settings)
    return ReceiptFunction(
        name=one.name,
        resource_name=one.resource_name,
        resource_id=one.resource_id,
        endpoint=one.endpoint,
        handler=one.handler,
        triggers=list_trigger_documents(one),
        updated_at=one.updated_at,
        runtime=settings.get("runtime", ""),
        timeout=int(settings.get("timeout") or 0),
        layer_archives=[archives[address] for address in one.layers if address in archives],
    )


def with_entry(document: object, stage: str, entry: Entry) -> Entry:
    """The receipt with this service and provider in it as they are now."""
    rest = [one for one in list_receipt_entries(document) if not _is_same_target(one, entry)]
    return _build_document(stage, [*rest, entry])


def remove_receipt_entry(document: object, stage: str, service: str, provider: str) -> Entry | None:
    """Remove a service and provider from the receipt. Returns None if it is then empty."""
    gone: Entry = {"service": service, "provider": provider}
    rest = [one for one in list_receipt_entries(document) if not _is_same_target(one, gone)]
    return _build_document(stage, rest) if rest else None


def list_receipt_entries(document: object) -> list[Entry]:
    """List the deployments of a receipt; empty for an invalid receipt."""
    if not isinstance(document, dict):
        return []
    found = document.get("deployments")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def is_receipt_for(document: object, ref: RecordRef) -> bool:
    """Return whether a deploy record has this record's service and stage."""
    if not isinstance(document, dict):
        return False
    return (document.get("service"), document.get("stage")) == (ref.service, ref.stage)


def _build_document(stage: str, entries: Sequence[Entry]) -> Entry:
    ordered = sorted(entries, key=lambda one: (str(one.get("service")), str(one.get("provider"))))
    return {"version": RECEIPT_VERSION, "stage": stage, "deployments": ordered}


def _is_same_target(one: Entry, other: Entry) -> bool:
    return all(one.get(name) == other[name] for name in ("service", "provider"))
