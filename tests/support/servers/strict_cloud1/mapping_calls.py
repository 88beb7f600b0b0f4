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
    " SourceAccessConfigurations ProvisionedPollerConfig"
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
_OF_BROKERS = frozenset({"SourceAccessConfigurations", "ProvisionedPollerConfig"})
# Members that say which source it is, or that never change.
_OF_CREATION = (
    "SelfManagedEventSource Topics Queues StartingPosition AmazonManagedKafkaEventSourceConfig"
    " SelfManagedKafkaEventSourceConfig StartingPositionTimestamp"
)
_TIME = "StartingPositionTimestamp"
_IDENTITY = ("FunctionArn", "EventSourceArn", "SelfManagedEventSource", "Topics", "Queues")
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
    kind = _check_source(region, asked, timeout)
    arn = function.arn(reference.qualifier)
    shown = {
        "UUID": str(uuid.uuid4()),
        "FunctionArn": arn,
        "EventSourceArn": source,
        **{name: asked[name] for name in _OF_CREATION.split() if name in asked},
        **_read_time(asked),
        "BatchSize": 10,
        "MaximumBatchingWindowInSeconds": 0,
        "FunctionResponseTypes": [],
        **_DEFAULTS[kind],
        **_settings_in(asked),
        "State": "Enabled" if asked.get("Enabled", True) else "Disabled",
        "StateTransitionReason": "USER_INITIATED",
        "LastModified": datetime.now(UTC),  # noqa: TID251 - shown only
    }
    _must_be_new(region, shown)
    if kind == "sqs":
        _check_batch(shown)
    mapping = EventSourceMapping(shown, region.account.looks, "Creating")
    region.mappings[shown["UUID"]] = mapping
    return _shown(mapping)


def _read_time(asked: Fields) -> Fields:
    if _TIME not in asked:
        return {}
    return {_TIME: datetime.fromtimestamp(float(asked[_TIME]), UTC)}


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


_HIDDEN: tuple[object, ...] = ("", {}, {"Filters": []}, {"OnFailure": {}})
_DEFAULTS: dict[str, Fields] = {
    "sqs": {},
    "stream": _STREAM_SETTINGS,
    "mq": {"BatchSize": 100},
    "kafka": {"BatchSize": 100},
}
_REFUSED = {
    "sqs": _OF_STREAMS | _OF_BROKERS | {"StartingPosition", "Topics", "Queues"},
    "stream": _OF_QUEUES | _OF_BROKERS | {"Topics", "Queues"},
    "mq": _OF_STREAMS | _OF_QUEUES | {"StartingPosition", "Topics", "ProvisionedPollerConfig"},
    "kafka": (_OF_STREAMS - {"DestinationConfig"}) | _OF_QUEUES | {"Queues"},
}


def _kind(shown: Fields) -> str:
    if "SelfManagedEventSource" in shown:
        return "kafka"
    service = shown.get("EventSourceArn", "").removeprefix("arn:aws:").partition(":")[0]
    kinds = {"kinesis": "stream", "dynamodb": "stream", "mq": "mq", "kafka": "kafka"}
    return kinds.get(service, "sqs")


def _check_source(region: Region, asked: Fields, timeout: int) -> str:
    """The kind of source."""
    source, kind = asked.get("EventSourceArn", ""), _kind(asked)
    _refuse_settings(asked, _REFUSED[kind])
    if kind == "sqs":
        _check_queue(region, source, timeout)
        return kind
    if kind == "mq":
        _check_channel(asked, "Queues")
        if "BASIC_AUTH" not in _access_types(asked):
            raise wrong_value("Amazon MQ requires a BASIC_AUTH secret.")
        return kind
    if kind == "kafka":
        _check_kafka(asked)
    _check_position(asked)
    name = source.rpartition("/")[2]
    streams = kinesis_backends[region.account.number][region.name].streams
    if ":kinesis:" in source and name not in streams:
        raise wrong_value(f"Stream not found: {source}")
    return kind


def _check_position(asked: Fields) -> None:
    """A time belongs to one position only, which streams of DynamoDB do not have."""
    position, source = asked.get("StartingPosition"), asked.get("EventSourceArn", "")
    if position not in ("LATEST", "TRIM_HORIZON", "AT_TIMESTAMP"):
        raise wrong_value("1 validation error detected: StartingPosition must not be null.")
    is_timed = position == "AT_TIMESTAMP"
    if is_timed and ":dynamodb:" in source:
        raise wrong_value("AT_TIMESTAMP is not supported for DynamoDB streams.")
    if is_timed is not (_TIME in asked):
        raise wrong_value("StartingPositionTimestamp is required only for AT_TIMESTAMP.")


def _check_channel(asked: Fields, name: str) -> None:
    if len(asked.get(name, ())) != 1:
        raise wrong_value(f"1 validation error detected: {name} must have one member.")


def _access_types(asked: Fields) -> list[str]:
    return [one["Type"] for one in asked.get("SourceAccessConfigurations", ())]


def _check_kafka(asked: Fields) -> None:
    """Brokers of one's own are reached by a login, or by both a network and its groups."""
    _check_channel(asked, "Topics")
    own, managed = (f"{one}KafkaEventSourceConfig" for one in ("SelfManaged", "AmazonManaged"))
    is_own = "SelfManagedEventSource" in asked
    if (managed if is_own else own) in asked:
        raise wrong_value("The configuration does not fit the event source.")
    types = _access_types(asked)
    if is_own and not types:
        raise wrong_value("SourceAccessConfigurations is required for self-managed Kafka.")
    if len({"VPC_SUBNET", "VPC_SECURITY_GROUP"} & set(types)) == 1:
        raise wrong_value("VPC_SUBNET and VPC_SECURITY_GROUP belong together.")
    pollers = asked.get("ProvisionedPollerConfig", {})
    if pollers.get("MinimumPollers", 1) > pollers.get("MaximumPollers", 200):
        raise wrong_value("MinimumPollers must not be greater than MaximumPollers.")


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


def _must_be_new(region: Region, shown: Fields) -> None:
    arn, source = shown["FunctionArn"], shown["EventSourceArn"]
    for ident, one in region.mappings.items():
        if all(one.shown.get(name) == shown.get(name) for name in _IDENTITY):
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
    kind = _kind(shown)
    _refuse_settings(asked, _REFUSED[kind])
    if kind == "sqs":
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
        f"EventSourceArn FunctionName Enabled {_OF_CREATION} {_SETTINGS}", _create
    ),
    "GetEventSourceMapping": heeding("UUID", _get),
    "ListEventSourceMappings": heeding("FunctionName EventSourceArn Marker MaxItems", _list),
    "UpdateEventSourceMapping": heeding(f"UUID FunctionName Enabled {_SETTINGS}", _update),
    "DeleteEventSourceMapping": heeding("UUID", _delete),
}
