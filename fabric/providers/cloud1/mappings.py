"""Event source mappings: queues and streams that Lambda reads for a function."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.client import CONFLICT, GONE, MISSING_QUEUE, ignore_codes
from fabric.providers.cloud1.events import (
    QueueWire,
    StreamWire,
    format_wire,
    read_last_part,
    read_options,
)
from fabric.providers.cloud1.permissions import parse_arn_home
from fabric.providers.cloud1.versions import Cloud1Work, retry_on_conflict
from fabric.providers.core.retry import poll_until
from fabric.system.cloud1_account import read_error_code

_QUEUES = "sqs"
_SERVICES = (_QUEUES, "kinesis", "dynamodb")
_STREAM_BATCH = 100
# What a new mapping has anyway.
_EMPTY: tuple[object, ...] = ({"Filters": []}, {"OnFailure": {}}, {}, [])


class FoundQueue(Struct, frozen=True):
    """An existing queue."""

    arn: str
    # Its visibility timeout in seconds.
    hidden_for: int


def find_queue(work: Cloud1Work, queue: str) -> FoundQueue | None:
    from botocore.exceptions import ClientError

    queues = work.clients.of("sqs")
    try:
        url = queues.get_queue_url(QueueName=queue)["QueueUrl"]
        names = ["QueueArn", "VisibilityTimeout"]
        found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    except ClientError as error:
        if read_error_code(error) in MISSING_QUEUE:
            return None
        raise
    return FoundQueue(found["QueueArn"], int(found["VisibilityTimeout"]))


def set_mapping(work: Cloud1Work, wire: QueueWire | StreamWire, alias: str) -> None:
    """Create or update the mapping. A mapping in deletion is waited for."""
    source, asked = _build_source_arn(wire, alias), _build_mapping_settings(wire)
    position = {"StartingPosition": wire.position} if isinstance(wire, StreamWire) else {}
    new = {**position, **{name: one for name, one in asked.items() if one not in _EMPTY}}

    def put() -> bool | None:
        there = next(
            (one for one in list_mappings(work, alias) if _read_source_arn(one) == source), None
        )
        kept = str(there.get("StartingPosition", "")) if there else ""
        if isinstance(wire, StreamWire) and kept not in ("", wire.position):
            said = f"{format_wire(wire)} keeps its `startingPosition` {kept}"
            work.scope.watch.hear(f"{said}: AWS sets it only when the trigger is created")
        done = False
        # A mapping in deletion blocks a new one until it is deleted.
        with ignore_codes(CONFLICT, GONE):
            if there is None:
                retry_on_conflict(work, lambda: _create_mapping(work, alias, source, new))
            elif there["State"] != "Deleting" and (changed := _find_differences(there, asked)):
                retry_on_conflict(work, lambda: _update_mapping(work, there, changed))
            done = there is None or there["State"] != "Deleting"
        return done or None

    if poll_until(put, work.scope.waiting, work.scope.watch) is None:
        message = f"the event source mapping of the {format_wire(wire)} is still being deleted"
        raise FabricError(Problem("provider/not-ready", message, "deploy again in a minute"))


def _build_mapping_settings(wire: QueueWire | StreamWire) -> dict[str, object]:
    """Build all settings. A setting removed from the config must return to its default."""
    options = read_options(wire)
    filters = [{"Pattern": json.dumps(one, sort_keys=True)} for one in options.get("filters", ())]
    common = {"FilterCriteria": {"Filters": filters}}
    if isinstance(wire, QueueWire):
        most = options.get("maximumConcurrency")
        return {
            **common,
            "BatchSize": wire.batch_size,
            "MaximumBatchingWindowInSeconds": wire.window,
            "FunctionResponseTypes": [wire.response] if wire.response else [],
            "Enabled": wire.is_enabled,
            "ScalingConfig": {"MaximumConcurrency": most} if most else {},
        }
    response = options.get("functionResponseType")
    failed = options.get("onFailure")
    return {
        **common,
        "BatchSize": options.get("batchSize") or _STREAM_BATCH,
        "MaximumBatchingWindowInSeconds": options.get("maximumBatchingWindowSeconds", 0),
        "ParallelizationFactor": options.get("parallelizationFactor", 1),
        "BisectBatchOnFunctionError": options.get("bisectOnError", False),
        "MaximumRetryAttempts": options.get("maximumRetryAttempts", -1),
        "MaximumRecordAgeInSeconds": options.get("maximumRecordAge", -1),
        "TumblingWindowInSeconds": options.get("tumblingWindowSeconds", 0),
        "FunctionResponseTypes": [response] if response else [],
        "DestinationConfig": {"OnFailure": {"Destination": failed} if failed else {}},
        "Enabled": options.get("enabled", True),
    }


def _create_mapping(
    work: Cloud1Work, alias: str, source: str, asked: Mapping[str, object]
) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.create_event_source_mapping(
        FunctionName=alias, EventSourceArn=source, **asked
    )
    return made


def _update_mapping(
    work: Cloud1Work, there: Mapping[str, Any], asked: Mapping[str, object]
) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.update_event_source_mapping(
        UUID=there["UUID"], **asked
    )
    return made


def _find_differences(there: Mapping[str, Any], asked: Mapping[str, object]) -> dict[str, object]:
    shown = {**there, "Enabled": there["State"] not in ("Disabled", "Disabling")}
    return {name: one for name, one in asked.items() if not _is_same(shown.get(name), one)}


def _is_same(shown: Any, wanted: object) -> bool:
    """Compare a setting. AWS omits empty ones."""
    if wanted in _EMPTY:
        return shown is None or shown in _EMPTY
    return bool((shown or type(wanted)()) == wanted)


def drop_mapping(work: Cloud1Work, wire: QueueWire | StreamWire, alias: str) -> None:
    """Delete the mapping only; messages stay in the queue or stream."""
    source = _build_source_arn(wire, alias)
    for one in list_mappings(work, alias):
        if _read_source_arn(one) == source and one["State"] != "Deleting":
            _drop_mapping(work, one["UUID"])


def _drop_mapping(work: Cloud1Work, uuid: str) -> None:
    with ignore_codes(GONE):
        retry_on_conflict(work, lambda: _delete_mapping(work, uuid))


def _delete_mapping(work: Cloud1Work, uuid: str) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.delete_event_source_mapping(UUID=uuid)
    return made


def list_mappings(work: Cloud1Work, alias: str = "") -> list[Mapping[str, Any]]:
    """List the mappings of an alias, or of the whole account."""
    which = {"FunctionName": alias} if alias else {}
    found: list[Mapping[str, Any]] = []
    with ignore_codes(GONE):
        found += (one for one in _fetch_mappings(work, which) if _read_service(one) in _SERVICES)
    return found


def _fetch_mappings(work: Cloud1Work, which: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    for page in work.functions.get_paginator("list_event_source_mappings").paginate(**which):
        yield from page["EventSourceMappings"]


def read_mapping(mapping: Mapping[str, Any]) -> QueueWire | StreamWire:
    source = _read_source_arn(mapping)
    is_queue = _read_service(mapping) == _QUEUES
    return QueueWire(read_last_part(source)) if is_queue else StreamWire(source)


def _read_service(mapping: Mapping[str, Any]) -> str:
    source = _read_source_arn(mapping)
    return source.split(":")[2] if source.startswith("arn:") else ""


def _read_source_arn(mapping: Mapping[str, Any]) -> str:
    return str(mapping.get("EventSourceArn", ""))


def _build_source_arn(wire: QueueWire | StreamWire, alias: str) -> str:
    if isinstance(wire, StreamWire):
        return wire.stream
    return parse_arn_home(alias).of(_QUEUES, wire.queue)
