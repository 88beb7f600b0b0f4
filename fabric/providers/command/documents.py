"""The JSON documents of custom commands: the order that they read, and the output that they print.

Their schemas are `deploy-order.schema.json` and `deploy-answer.schema.json`."""

import json
import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NoReturn

from msgspec import Struct
from msgspec import json as typed_json

from fabric.model.catalog import FUNCTION_SETTINGS
from fabric.model.records.record import FunctionRecord, Record
from fabric.model.records.record_document import list_trigger_documents
from fabric.model.secrets.secrecy import REDACTED, is_secret_name
from fabric.model.task import Pairs
from fabric.providers.core.contract import Artifact, DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.payloads import format_json
from fabric.providers.core.triggers import format_resource_name
from fabric.system.schemas import find_misfits, format_misfits

ORDER_SCHEMA = "deploy-order"
FORMAT_VERSION = 1


class OrderKind(StrEnum):
    DEPLOY = "deploy"
    REMOVE = "remove"


class ArtifactRow(Struct, frozen=True, rename="camel"):
    path: str
    sha256: str
    size_bytes: int
    changed: bool


class FunctionRow(Struct, frozen=True, rename="camel"):
    """The desired configuration of one function."""

    name: str
    entry: str
    handler: str
    runtime: str
    memory: int | None
    timeout: int | None
    architecture: str
    reserved_concurrency: int | None
    provisioned_concurrency: int | None
    triggers: list[object]
    layers: tuple[str, ...]
    # The keys of FUNCTION_SETTINGS that the config contains.
    settings: dict[str, object]
    environment: dict[str, str]
    tags: dict[str, str]
    artifact: ArtifactRow
    # Whether the archive is another one than at the last deploy; also in `artifact`.
    changed: bool


class LiveRow(Struct, frozen=True, rename="camel"):
    """One deployed function, as an earlier command reported it."""

    name: str
    resource_name: str
    resource_id: str
    endpoint: str
    artifact_sha256: str
    handler: str = ""
    runtime: str = ""
    triggers: list[object] = []
    layers: tuple[str, ...] = ()
    updated_at: str = ""


class PreviousRow(Struct, frozen=True, rename="camel"):
    """The state before this command."""

    deployment_id: str
    mode: str
    endpoint: str
    outputs: dict[str, str]
    functions: tuple[LiveRow, ...]
    updated_at: str


class ResourceRow(Struct, frozen=True, rename="camel"):
    name: str
    type: str
    env_var: str
    address: str


class WorkflowRow(Struct, frozen=True, rename="camel"):
    name: str
    steps: object
    address: str


class OrderDocument(Struct, frozen=True, rename="camel"):
    format_version: int
    operation: OrderKind
    service: str
    stage: str
    provider: str
    provider_id: str
    region: str
    deployment_id: str
    functions: tuple[FunctionRow, ...] | tuple[LiveRow, ...]
    resources: tuple[ResourceRow, ...]
    workflows: tuple[WorkflowRow, ...]
    secret_references: dict[str, str]
    extension: object
    previous: PreviousRow | None


def deploy_order(address: DeploymentAddress, orders: Sequence[FunctionOrder]) -> str:
    return _encode_document(
        _build_document(OrderKind.DEPLOY, address, tuple(map(_build_function_row, orders)))
    )


def remove_order(address: DeploymentAddress, functions: Sequence[LiveFunction]) -> str:
    previous = address.previous
    known = {one.name: _convert_record(one) for one in previous.functions} if previous else {}
    rows = tuple(known.get(one.name) or _build_live_row(one) for one in functions)
    return _encode_document(_build_document(OrderKind.REMOVE, address, rows))


def _encode_document(document: OrderDocument) -> str:
    return typed_json.encode(document).decode()


def _build_document(
    kind: OrderKind,
    address: DeploymentAddress,
    functions: tuple[FunctionRow, ...] | tuple[LiveRow, ...],
) -> OrderDocument:
    return OrderDocument(
        format_version=FORMAT_VERSION,
        operation=kind,
        service=address.service,
        stage=address.stage,
        provider=address.label,
        provider_id=address.provider_id,
        region=address.region,
        deployment_id=address.deployment_id,
        functions=functions,
        resources=tuple(
            ResourceRow(one.name, one.type, one.env_var, one.address.reveal())
            for one in address.supplies.resources
        ),
        workflows=tuple(
            WorkflowRow(name, json.loads(steps), format_resource_name(address, name))
            for name, steps in address.supplies.workflows
        ),
        secret_references=dict(address.supplies.secret_refs),
        extension=json.loads(address.extension),
        previous=_build_previous_row(address.previous),
    )


def _build_function_row(order: FunctionOrder) -> FunctionRow:
    settings = dict(order.settings)
    return FunctionRow(
        name=order.name,
        entry=settings.get("entry", ""),
        handler=order.artifact.handler,
        runtime=order.artifact.runtime,
        memory=_count(settings.get("memory", "")),
        timeout=_count(settings.get("timeout", "")),
        architecture=settings.get("architecture", ""),
        reserved_concurrency=order.reserved_concurrency,
        provisioned_concurrency=order.provisioned_concurrency,
        triggers=[json.loads(text) for text in order.triggers],
        layers=order.layers,
        settings={
            key: _decode_setting(settings[key]) for key in FUNCTION_SETTINGS if key in settings
        },
        environment=dict(order.env.reveal()),
        tags=dict(order.tags),
        artifact=_build_artifact_row(order.artifact),
        changed=order.artifact.changed,
    )


def _decode_setting(text: str) -> object:
    """Decode a setting, which is plain text or JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _count(text: str) -> int | None:
    """Return 0 for a setting that the config leaves to the provider."""
    return int(text) if text not in ("", "0") else None


def _build_artifact_row(artifact: Artifact) -> ArtifactRow:
    path = str(artifact.path.absolute())
    return ArtifactRow(path, artifact.sha256, artifact.size, artifact.changed)


def _build_live_row(one: LiveFunction) -> LiveRow:
    return LiveRow(one.name, one.resource_name, one.resource_id, one.endpoint, one.artifact_sha256)


def _build_previous_row(record: Record | None) -> PreviousRow | None:
    if record is None or not record.deployment_id:
        return None
    # Of a first deploy that failed half-way nobody knows more than the name.
    functions = tuple(_convert_record(one) for one in record.functions if one.settings)
    if not functions and not record.endpoint:
        return None
    return PreviousRow(
        deployment_id=record.deployment_id,
        mode=record.mode,
        endpoint=record.endpoint,
        outputs=dict(record.outputs),
        functions=functions,
        updated_at=record.updated_at,
    )


def _convert_record(one: FunctionRecord) -> LiveRow:
    return LiveRow(
        name=one.name,
        resource_name=one.resource_name,
        resource_id=one.resource_id,
        endpoint=one.endpoint,
        artifact_sha256=one.artifact_sha256,
        handler=one.handler,
        runtime=dict(one.settings).get("runtime", ""),
        triggers=list_trigger_documents(one),
        layers=one.layers,
        updated_at=one.updated_at,
    )


OUTPUT_SCHEMA = "deploy-answer"


def read_output(stdout: bytes) -> Pairs:
    """Return the outputs: always a `url`, and an `endpoint` if that address differs.

    Raises a ValueError whose message continues the words `its output`.
    """
    document = _parse_document(stdout)
    wrong = find_misfits(OUTPUT_SCHEMA, document)
    if wrong:
        raise ValueError(f"is invalid: {format_misfits(wrong)}")
    texts = {name: _format_value(value) for name, value in document.items()}
    outputs = {"url": texts.get("endpoint", texts.get("url", "")), **texts}
    if outputs.get("endpoint") == outputs["url"]:
        del outputs["endpoint"]
    return tuple(outputs.items())


def _parse_document(stdout: bytes) -> dict[str, object]:
    if not stdout.strip():
        raise ValueError("is empty")
    try:
        document = json.loads(
            stdout.decode(),
            object_pairs_hook=_require_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_parse_finite,
        )
        format_json(document).encode()
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not one JSON document ({error})") from error
    if not isinstance(document, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - an answer, not an argument
    return document


def _require_unique_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("contains a duplicate key")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"contains {name}, which is not JSON")


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("contains a number that is too large")
    return number


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else format_json(_redact_credentials(value))


def _redact_credentials(value: object) -> object:
    match value:
        case dict():
            return {
                name: REDACTED if is_secret_name(name) else _redact_credentials(item)
                for name, item in value.items()
            }
        case list():
            return [_redact_credentials(item) for item in value]
        case _:
            return value
