"""Lambda's calls about queues that functions are fed from; a mapping outlives its function."""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

from moto.kinesis.models import kinesis_backends
from moto.sqs.models import Queue, sqs_backends

from tests.support.servers.strict_cloud1.accounts import EventSourceMapping, Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.functions import Reference
from tests.support.servers.strict_cloud1.operations import heeding, paged
from tests.support.servers.strict_cloud1.refusals import (
    RefusalError,
    conflict,
    not_found,
    not_written,
    wrong_value,
)

_SETTINGS = (
    "BatchSize MaximumBatchingWindowInSeconds FunctionResponseTypes FilterCriteria ScalingConfig"
    " ParallelizationFactor BisectBatchOnFunctionError MaximumRetryAttempts"
    " MaximumRecordAgeInSeconds TumblingWindowInSeconds DestinationConfig"
)
_STREAM_SETTINGS = {
    "BatchSize": 100,
    "ParallelizationFactor": 1,
    "BisectBatchOnFunctionError": False,
    "MaximumRetryAttempts": -1,
    "MaximumRecordAgeInSeconds": -1,
    "TumblingWindowInSeconds": 0,
}
_OF_STREAMS = frozenset({*_STREAM_SETTINGS, "DestinationConfig"} - {"BatchSize"})
_OF_QUEUES = frozenset({"ScalingConfig"})
_WITHOUT_WINDOW = 10


def queue_of(region: Region, arn: str) -> Queue | None:
    _, _, service, place, number, name = arn.split(":", 5)
    if (service, place, number) != ("sqs", region.name, region.account.number):
        return None
    return sqs_backends[number][place].queues.get(name)


def hidden_for(queue: Any) -> int:
    """The seconds until what was received and not removed is seen again."""
    return int(queue.visibility_timeout or 0)


def _create(region: Region, asked: Fields) -> Fields:
    reference, source = Reference.of(asked["FunctionName"]), asked.get("EventSourceArn", "")
    function = region.function(reference)
    timeout = function.version(reference.qualifier).settings["Timeout"]
    is_queue = _check_source(region, asked, timeout)
    arn = function.arn(reference.qualifier)
    _must_be_new(region, arn, source)
    shown = {
        "UUID": str(uuid.uuid4()),
        "FunctionArn": arn,
        "EventSourceArn": source,
        "BatchSize": 10,
        "MaximumBatchingWindowInSeconds": 0,
        "FunctionResponseTypes": [],
        **({} if is_queue else {**_STREAM_SETTINGS, "StartingPosition": asked["StartingPosition"]}),
        **_settings_in(asked),
        "State": "Enabled" if asked.get("Enabled", True) else "Disabled",
        "StateTransitionReason": "USER_INITIATED",
        "LastModified": datetime.now(UTC),  # noqa: TID251 - shown only
    }
    if is_queue:
        _check_batch(shown)
    mapping = EventSourceMapping(shown, region.account.looks, "Creating")
    region.mappings[shown["UUID"]] = mapping
    return _shown(mapping)


def _settings_in(asked: Fields) -> Fields:
    for row in asked.get("FilterCriteria", {}).get("Filters", ()):
        if not isinstance(json.loads(row["Pattern"]), dict):
            raise wrong_value("Invalid filter pattern definition.")
    return {name: asked[name] for name in _SETTINGS.split() if name in asked}


def _shown(mapping: EventSourceMapping) -> Fields:
    """Empty settings are not shown."""
    full = {name: one for name, one in mapping.shown.items() if one not in _HIDDEN}
    state = {"State": mapping.transition} if mapping.looks else {}
    return {**full, **state}


_HIDDEN: tuple[object, ...] = ({}, {"Filters": []}, {"OnFailure": {}})


def _check_source(region: Region, asked: Fields, timeout: int) -> bool:
    """Whether it is a queue."""
    source = asked.get("EventSourceArn", "")
    if not source.startswith(("arn:aws:kinesis:", "arn:aws:dynamodb:")):
        _refuse_settings(asked, _OF_STREAMS | {"StartingPosition"})
        _check_queue(region, source, timeout)
        return True
    _refuse_settings(asked, _OF_QUEUES)
    if asked.get("StartingPosition") not in ("LATEST", "TRIM_HORIZON"):
        raise wrong_value("1 validation error detected: StartingPosition must not be null.")
    name = source.rpartition("/")[2]
    streams = kinesis_backends[region.account.number][region.name].streams
    if ":kinesis:" in source and name not in streams:
        raise wrong_value(f"Stream not found: {source}")
    return False


def _refuse_settings(asked: Fields, names: frozenset[str]) -> None:
    for name in sorted(names & asked.keys()):
        raise wrong_value(f"Unsupported parameter for this event source: {name}")


def _check_queue(region: Region, source: str, timeout: int) -> None:
    if not source.startswith("arn:aws:sqs:"):
        raise not_written(f"event sources other than queues: {source}")
    queue = queue_of(region, source)
    if queue is None:
        raise wrong_value(
            "Error occurred while ReceiveMessage. SQS Error Code:"
            " AWS.SimpleQueueService.NonExistentQueue. SQS Error Message: The specified queue does"
            " not exist."
        )
    visible_after = hidden_for(queue)
    if visible_after < timeout:
        raise wrong_value(
            f"Queue visibility timeout: {visible_after} seconds is less than Function timeout:"
            f" {timeout} seconds"
        )


def _must_be_new(region: Region, arn: str, source: str) -> None:
    for ident, one in region.mappings.items():
        if (one.shown["FunctionArn"], one.shown["EventSourceArn"]) == (arn, source):
            raise conflict(
                f'An event source mapping with SQS arn (" {source} ") and function (" {arn} ")'
                f" already exists. Please update or delete the existing mapping with UUID {ident}"
            )


def _check_batch(shown: Fields) -> None:
    size, window = shown["BatchSize"], shown["MaximumBatchingWindowInSeconds"]
    if shown["EventSourceArn"].endswith(".fifo") and (size > _WITHOUT_WINDOW or window):
        raise wrong_value("Batching window is not supported for FIFO queues")
    if size > _WITHOUT_WINDOW and not window:
        raise wrong_value(
            "Maximum batch window in seconds must be greater than 0 if maximum batch size is"
            " greater than 10"
        )


def _mapping(region: Region, asked: Fields) -> EventSourceMapping:
    if asked["UUID"] not in region.mappings:
        raise not_found("The resource you requested does not exist.")
    return region.mappings[asked["UUID"]]


def looked_at(region: Region, ident: str) -> Fields:
    """What a look at it shows; the look after the last of a deletion finds nothing."""
    mapping = region.mappings[ident]
    found = _shown(mapping)
    if mapping.looks:
        mapping.looks -= 1
        if not mapping.looks and mapping.is_leaving:
            del region.mappings[ident]
    return found


def _get(region: Region, asked: Fields) -> Fields:
    _mapping(region, asked)
    return looked_at(region, asked["UUID"])


def _list(region: Region, asked: Fields) -> Fields:
    wanted = asked.get("FunctionName")
    arn = region.function_arn(*Reference.of(wanted)) if wanted else None
    found = [
        ident
        for ident, one in region.mappings.items()
        if arn in {None, one.shown["FunctionArn"]}
        and asked.get("EventSourceArn") in {None, one.shown["EventSourceArn"]}
    ]
    return paged([looked_at(region, one) for one in found], "EventSourceMappings", asked)


def _free(region: Region, asked: Fields) -> EventSourceMapping:
    mapping = _mapping(region, asked)
    if mapping.looks:
        looked_at(region, asked["UUID"])
        message = f"Cannot change the event source mapping because it is in use: {asked['UUID']}"
        raise RefusalError(400, "ResourceInUseException", message)
    return mapping


def _update(region: Region, asked: Fields) -> Fields:
    mapping = _free(region, asked)
    shown = {**mapping.shown, **_settings_in(asked)}
    if "FunctionName" in asked:
        reference = Reference.of(asked["FunctionName"])
        function = region.function(reference)
        function.version(reference.qualifier)
        shown["FunctionArn"] = function.arn(reference.qualifier)
    if "Enabled" in asked:
        shown["State"] = "Enabled" if asked["Enabled"] else "Disabled"
    is_queue = ":sqs:" in shown["EventSourceArn"]
    _refuse_settings(asked, _OF_STREAMS if is_queue else _OF_QUEUES)
    if is_queue:
        _check_batch(shown)
    mapping.shown, mapping.looks, mapping.transition = shown, region.account.looks, "Updating"
    return _shown(mapping)


def _delete(region: Region, asked: Fields) -> Fields:
    mapping = _free(region, asked)
    mapping.looks, mapping.transition = region.account.looks, "Deleting"
    if not mapping.looks:
        del region.mappings[asked["UUID"]]
    return {**mapping.shown, "State": "Deleting"}


MAPPING_CALLS = {
    "CreateEventSourceMapping": heeding(
        f"EventSourceArn FunctionName Enabled StartingPosition {_SETTINGS}", _create
    ),
    "GetEventSourceMapping": heeding("UUID", _get),
    "ListEventSourceMappings": heeding("FunctionName EventSourceArn Marker MaxItems", _list),
    "UpdateEventSourceMapping": heeding(f"UUID FunctionName Enabled {_SETTINGS}", _update),
    "DeleteEventSourceMapping": heeding("UUID", _delete),
}
