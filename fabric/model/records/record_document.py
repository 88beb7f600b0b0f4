"""The stored form of records: typed, with their keys on disk.

The history names functions by hash; each version is stored once.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, to_builtins
from msgspec.structs import asdict, replace

from fabric.model.hashing import hash_bytes
from fabric.model.records.record import (
    Deployment,
    FunctionRecord,
    Intent,
    LayerRecord,
    Lifecycle,
    Mode,
    Operation,
    Origin,
    PreviewStage,
    Record,
    RecordRef,
    StackRecord,
    WorkflowRecord,
)

VERSION = 1
Document: TypeAlias = dict[str, Any]
_VERSION_LENGTH = 32
_TABLES = frozenset({"outputs", "settings", "environment", "upstream", "kept", "late"})
_Table: TypeAlias = dict[str, str]
_Count: TypeAlias = Annotated[int, Meta(ge=0)]


class FunctionDocument(Struct, frozen=True, rename="camel"):
    name: str
    key: str
    artifact_sha256: str
    resource_name: str
    resource_id: str
    endpoint: str
    handler: str
    triggers: list[object]
    layers: list[str]
    settings: _Table
    environment: _Table
    environment_sha256: str
    upstream: _Table
    updated_at: str
    sealed_values: str = ""
    image: str = ""
    late: _Table = {}


class WorkflowDocument(Struct, frozen=True, rename="camel"):
    name: str
    key: str
    address: str
    version: str
    content: str
    triggers: list[Any]
    settings: _Table
    updated_at: str


class DeploymentDocument(Struct, frozen=True, rename="camel"):
    """`functions` are versions of functions by their digests."""

    deployment_id: str
    mode: Mode
    endpoint: str
    outputs: _Table
    release_key: str
    functions: list[str]
    updated_at: str
    workflows: list[WorkflowDocument] = []
    stacks: list[StackRecord] = []
    origin: Origin = Origin()


class IntentDocument(Struct, frozen=True, rename="camel"):
    task: str
    operation: Operation
    function: str
    deployment_id: str
    at: str


class RecordDocument(Struct, frozen=True, rename="camel"):
    """All fields except the checksum."""

    version: Literal[1]
    lineage: str
    serial: _Count
    fence: _Count
    service: str
    stage: str
    provider: str
    provider_id: str
    region: str
    mode: Mode
    lifecycle: Lifecycle
    deployment_id: str
    endpoint: str
    outputs: _Table
    release_key: str
    functions: list[FunctionDocument]
    pending: list[IntentDocument]
    history: list[DeploymentDocument]
    versions: dict[str, FunctionDocument]
    salt: str
    updated_at: str
    kept: _Table = {}
    layers: list[LayerRecord] = []
    stacks: list[StackRecord] = []
    workflows: list[WorkflowDocument] = []
    origin: Origin = Origin()
    preview: PreviewStage | None = None


def encode_ref(ref: RecordRef) -> dict[str, str]:
    return {"service": ref.service, "stage": ref.stage, "provider": ref.provider}


def encode_record(record: Record) -> Document:
    document = _encode_record(record)
    # Left out if empty, as in records of versions without them.
    if record.kept:
        document["kept"] = dict(record.kept)
    if record.layers:
        document["layers"] = to_builtins(list(record.layers))
    if record.stacks:
        document["stacks"] = to_builtins(list(record.stacks))
    if record.workflows:
        document["workflows"] = [_encode_workflow(one) for one in record.workflows]
    if record.origin != Origin():
        document["origin"] = to_builtins(record.origin)
    if record.preview:
        document["preview"] = to_builtins(record.preview)
    return document


def _encode_record(record: Record) -> Document:
    versions = _map_versions(record)
    return {
        "version": VERSION,
        "lineage": record.lineage,
        "serial": record.serial,
        "fence": record.fence,
        **encode_ref(record.ref),
        "providerId": record.provider_id,
        "region": record.region,
        "mode": record.mode,
        "lifecycle": record.lifecycle,
        "deploymentId": record.deployment_id,
        "endpoint": record.endpoint,
        "outputs": dict(record.outputs),
        "releaseKey": record.release_key,
        "functions": [encode_function_record(one) for one in record.functions],
        "pending": to_builtins(list(record.pending)),
        "history": [_encode_deployment(one, versions) for one in record.history],
        "versions": _encode_past_versions(record, versions),
        "salt": record.salt,
        "updatedAt": record.updated_at,
    }


def list_trigger_documents(one: FunctionRecord) -> list[object]:
    return [json.loads(trigger) for trigger in one.triggers]


def encode_function_record(one: FunctionRecord) -> Document:
    document: Document = to_builtins(one)
    document["triggers"] = list_trigger_documents(one)
    document["layers"] = list(one.layers)
    for name in ("settings", "environment", "upstream", "late"):
        document[name] = dict(document[name])
    if not one.sealed_values:
        del document["sealedValues"]
    for name in ("image", "late"):
        if not document[name]:
            del document[name]
    return document


def decode_function_record(document: FunctionDocument) -> FunctionRecord:
    triggers = tuple(json.dumps(one, sort_keys=True) for one in document.triggers)
    layers = tuple(document.layers)
    return FunctionRecord(**{**_read(document), "triggers": triggers, "layers": layers})


def _encode_workflow(one: WorkflowRecord) -> Document:
    document: Document = to_builtins(one)
    document["triggers"] = [json.loads(trigger) for trigger in one.triggers]
    document["settings"] = dict(one.settings)
    return document


def _decode_workflow(document: WorkflowDocument) -> WorkflowRecord:
    triggers = tuple(json.dumps(one, sort_keys=True) for one in document.triggers)
    return WorkflowRecord(**{**_read(document), "triggers": triggers})


def compute_version_hash(one: FunctionRecord) -> str:
    # Without its seal, which is another one each time: who knows of no seals finds it as well.
    text = json.dumps(encode_function_record(replace(one, sealed_values="")), sort_keys=True)
    return hash_bytes(text.encode())[:_VERSION_LENGTH]


def record_read(document: RecordDocument) -> Record:
    """Decode a record. Raises a LookupError if the history names a missing version."""
    functions = tuple(map(decode_function_record, document.functions))
    past = {name: decode_function_record(one) for name, one in document.versions.items()}
    versions = {**past, **{compute_version_hash(one): one for one in functions}}
    fields = _read(document)
    for name in ("version", "versions", "service", "stage", "provider"):
        del fields[name]
    changed = {
        "functions": functions,
        "pending": tuple(Intent(**asdict(one)) for one in document.pending),
        "history": tuple(_decode_deployment(one, versions) for one in document.history),
        "layers": tuple(document.layers),
        "stacks": tuple(document.stacks),
        "workflows": tuple(map(_decode_workflow, document.workflows)),
    }
    ref = RecordRef(document.service, document.stage, document.provider)
    return Record(ref, **{**fields, **changed})


def _encode_deployment(one: Deployment, versions: Mapping[int, str]) -> Document:
    document: Document = to_builtins(replace(one, functions=()))
    document["outputs"] = dict(one.outputs)
    document["functions"] = [versions[id(function)] for function in one.functions]
    del document["workflows"]
    if one.workflows:
        document["workflows"] = [_encode_workflow(row) for row in one.workflows]
    if not one.stacks:
        del document["stacks"]
    if not document["origin"]:
        del document["origin"]
    return document


def _decode_deployment(
    document: DeploymentDocument, versions: Mapping[str, FunctionRecord]
) -> Deployment:
    functions = tuple(versions[name] for name in document.functions)
    changed = {
        "functions": functions,
        "workflows": tuple(map(_decode_workflow, document.workflows)),
        "stacks": tuple(document.stacks),
    }
    return Deployment(**{**_read(document), **changed})


def _map_versions(record: Record) -> dict[int, str]:
    """Map functions to versions by object identity, because the history repeats most functions."""
    past = (one for old in record.history for one in old.functions)
    distinct = {id(one): one for one in (*record.functions, *past)}
    return {number: compute_version_hash(one) for number, one in distinct.items()}


def _encode_past_versions(record: Record, versions: Mapping[int, str]) -> Document:
    """Encode the versions that only the history uses."""
    current = {versions[id(one)] for one in record.functions}
    past = {versions[id(one)]: one for old in record.history for one in old.functions}
    return {
        version: encode_function_record(past[version])
        for version in sorted(past)
        if version not in current
    }


def _read(document: Struct) -> Document:
    """The fields of a document, its tables as pairs."""
    return {
        name: tuple(field.items()) if name in _TABLES else field
        for name, field in asdict(document).items()
    }
