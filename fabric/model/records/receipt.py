"""The receipt of a stage and the deploy record of a provider: what a record says, for readers."""

from collections.abc import Sequence
from typing import Any

from fabric.model.records.record import FunctionRecord, Record
from fabric.model.records.record_json import function_document

RECEIPT_VERSION = 2


def receipt_entry(record: Record) -> dict[str, Any]:
    # Whether one without an archive is there, nobody knows: its first deploy failed on the way.
    functions = [one for one in record.functions if one.artifact_sha256]
    return {
        "service": record.ref.service,
        "provider": record.ref.provider,
        "deploymentId": record.deployment_id,
        "mode": record.mode,
        "endpoint": record.endpoint,
        "outputs": dict(record.outputs),
        "functions": [_function(one) for one in functions],
        "artifacts": {one.name: one.artifact_sha256 for one in functions},
        "updatedAt": record.updated_at,
    }


def _function(one: FunctionRecord) -> dict[str, Any]:
    document = function_document(one)
    names = ("name", "resourceName", "resourceId", "endpoint", "handler", "triggers", "updatedAt")
    settings = dict(one.settings)
    return {
        **{name: document[name] for name in names},
        "runtime": settings.get("runtime", ""),
        "timeout": int(settings.get("timeout") or 0),
    }


def with_entry(document: Any, stage: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The receipt with this service and provider in it as they are now."""
    rest = [one for one in entries_of(document) if not _same(one, entry)]
    return _document(stage, [*rest, entry])


def without_entry(document: Any, stage: str, service: str, provider: str) -> dict[str, Any] | None:
    """The receipt without a service and provider; None when nothing is left in it."""
    gone = {"service": service, "provider": provider}
    rest = [one for one in entries_of(document) if not _same(one, gone)]
    return _document(stage, rest) if rest else None


def entries_of(document: Any) -> list[dict[str, Any]]:
    """The deployments of a receipt; whatever is no receipt has none."""
    if not isinstance(document, dict):
        return []
    found = document.get("deployments")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _document(stage: str, entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    ordered = sorted(entries, key=lambda one: (str(one.get("service")), str(one.get("provider"))))
    return {"version": RECEIPT_VERSION, "stage": stage, "deployments": ordered}


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one.get(name) == other[name] for name in ("service", "provider"))
