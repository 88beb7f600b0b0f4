"""Records as JSON and back: versioned, checked, and the same bytes for the same record.

History names the functions of each deployment by digest; each version of one is stored once.
"""

import json
from collections.abc import Mapping
from typing import Any

from fabric.model.hashing import digest_bytes
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.record import (
    Deployment,
    FunctionRecord,
    Intent,
    Lifecycle,
    Mode,
    Operation,
    Record,
    RecordRef,
)

VERSION = 1
CORRUPT = "state/corrupt"
_VERSION_LENGTH = 32


def encode(record: Record) -> bytes:
    """The stored form, its checksum at the end."""
    document = document_of(record)
    document["checksum"] = checksum_of(document)
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def decode(content: bytes, name: str) -> Record:
    """A record out of its stored form; `name` is where it came from, for people."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _corrupt(name, "it is not JSON") from error
    return from_document(document, name)


def decode_at(content: bytes, name: str, ref: RecordRef) -> Record:
    """The record that has to lie there: a copy of another one is as bad as none."""
    record = decode(content, name)
    if record.ref != ref:
        raise _corrupt(name, f"it is the record of {record.ref.path}, and lies under {ref.path}")
    return record


def from_document(document: Any, name: str) -> Record:
    if not isinstance(document, dict):
        raise _corrupt(name, "it is no JSON object")
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise FabricError(
            Problem(
                "state/newer-version",
                f"`{name}` has format version {version}; this fabric reads up to {VERSION}",
                hint="update fabric",
                where=Place(name),
            )
        )
    if document.get("checksum") != checksum_of(document):
        raise _corrupt(name, "its checksum does not fit its content")
    try:
        return _record(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _corrupt(name, f"a field is missing or has the wrong type ({error})") from error


def checksum_of(document: Mapping[str, Any]) -> str:
    """Over everything but the checksum, in one canonical form."""
    rest = {key: value for key, value in document.items() if key != "checksum"}
    return digest_bytes(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())


def ref_document(ref: RecordRef) -> dict[str, str]:
    return {"service": ref.service, "stage": ref.stage, "provider": ref.provider}


def document_of(record: Record) -> dict[str, Any]:
    return {
        "version": VERSION,
        "lineage": record.lineage,
        "serial": record.serial,
        "fence": record.fence,
        **ref_document(record.ref),
        "providerId": record.provider_id,
        "region": record.region,
        "mode": record.mode,
        "lifecycle": record.lifecycle,
        "deploymentId": record.deployment_id,
        "endpoint": record.endpoint,
        "outputs": dict(record.outputs),
        "releaseKey": record.release_key,
        "functions": [function_document(one) for one in record.functions],
        "pending": [intent_document(one) for one in record.pending],
        "history": [_deployment_document(one) for one in record.history],
        "versions": _versions(record),
        "salt": record.salt,
        "updatedAt": record.updated_at,
    }


def function_document(one: FunctionRecord) -> dict[str, Any]:
    return {
        "name": one.name,
        "key": one.key,
        "artifactSha256": one.artifact_sha256,
        "resourceName": one.resource_name,
        "resourceId": one.resource_id,
        "endpoint": one.endpoint,
        "handler": one.handler,
        "triggers": [json.loads(trigger) for trigger in one.triggers],
        "layers": list(one.layers),
        "settings": dict(one.settings),
        "environment": dict(one.environment),
        "environmentSha256": one.environment_sha256,
        "upstream": dict(one.upstream),
        "updatedAt": one.updated_at,
    }


def function_from(document: Mapping[str, Any]) -> FunctionRecord:
    return FunctionRecord(
        name=_text(document["name"]),
        key=_text(document["key"]),
        artifact_sha256=_text(document["artifactSha256"]),
        resource_name=_text(document["resourceName"]),
        resource_id=_text(document["resourceId"]),
        endpoint=_text(document["endpoint"]),
        handler=_text(document["handler"]),
        triggers=tuple(json.dumps(one, sort_keys=True) for one in document["triggers"]),
        layers=tuple(map(_text, document["layers"])),
        settings=_pairs(document["settings"]),
        environment=_pairs(document["environment"]),
        environment_sha256=_text(document["environmentSha256"]),
        upstream=_pairs(document["upstream"]),
        updated_at=_text(document["updatedAt"]),
    )


def intent_document(one: Intent) -> dict[str, Any]:
    return {
        "task": one.task,
        "operation": one.operation,
        "function": one.function,
        "deploymentId": one.deployment_id,
        "at": one.at,
    }


def _deployment_document(one: Deployment) -> dict[str, Any]:
    return {
        "deploymentId": one.deployment_id,
        "mode": one.mode,
        "endpoint": one.endpoint,
        "outputs": dict(one.outputs),
        "releaseKey": one.release_key,
        "functions": [version_of(function) for function in one.functions],
        "updatedAt": one.updated_at,
    }


def _versions(record: Record) -> dict[str, Any]:
    """What history names and the current functions are not."""
    current = {version_of(one) for one in record.functions}
    past = {version_of(one): one for old in record.history for one in old.functions}
    return {
        version: function_document(past[version])
        for version in sorted(past)
        if version not in current
    }


def version_of(one: FunctionRecord) -> str:
    return digest_bytes(json.dumps(function_document(one), sort_keys=True).encode())[
        :_VERSION_LENGTH
    ]


def _record(document: Mapping[str, Any]) -> Record:
    ref = RecordRef(*(_text(document[name]) for name in ("service", "stage", "provider")))
    functions = tuple(map(function_from, document["functions"]))
    past = {name: function_from(one) for name, one in document["versions"].items()}
    versions = {**past, **{version_of(one): one for one in functions}}
    return Record(
        ref=ref,
        provider_id=_text(document["providerId"]),
        lineage=_text(document["lineage"]),
        salt=_text(document["salt"]),
        serial=_whole(document["serial"]),
        fence=_whole(document["fence"]),
        region=_text(document["region"]),
        mode=Mode(document["mode"]),
        lifecycle=Lifecycle(document["lifecycle"]),
        deployment_id=_text(document["deploymentId"]),
        endpoint=_text(document["endpoint"]),
        outputs=_pairs(document["outputs"]),
        release_key=_text(document["releaseKey"]),
        functions=functions,
        pending=tuple(map(_intent, document["pending"])),
        history=tuple(_deployment(one, versions) for one in document["history"]),
        updated_at=_text(document["updatedAt"]),
    )


def _intent(document: Mapping[str, Any]) -> Intent:
    return Intent(
        _text(document["task"]),
        Operation(document["operation"]),
        _text(document["function"]),
        _text(document["deploymentId"]),
        _text(document["at"]),
    )


def _deployment(document: Mapping[str, Any], versions: Mapping[str, FunctionRecord]) -> Deployment:
    return Deployment(
        _text(document["deploymentId"]),
        Mode(document["mode"]),
        _text(document["endpoint"]),
        _pairs(document["outputs"]),
        _text(document["releaseKey"]),
        tuple(versions[name] for name in document["functions"]),
        _text(document["updatedAt"]),
    )


def _pairs(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((_text(name), _text(value)) for name, value in document.items())


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _corrupt(name: str, why: str) -> FabricError:
    return FabricError(
        Problem(
            CORRUPT,
            f"`{name}` is no readable state: {why}",
            hint="the last good one may lie beside it: fabric state push --file FILE.bak; "
            "or take a backup back: fabric state restore",
            where=Place(name),
        )
    )
