"""Event source mappings: queues, streams and brokers that Lambda reads for a function."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from fabric.config.schema.triggers import BROKER_ACCESS
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import REDACTED
from fabric.providers.cloud1.core.client import CONFLICT, GONE, MISSING_QUEUE, ignore_codes
from fabric.providers.cloud1.core.permissions import parse_arn_home
from fabric.providers.cloud1.core.versions import Cloud1Work, retry_on_conflict
from fabric.providers.cloud1.events.events import read_last_part
from fabric.providers.cloud1.events.wires import (
    AT_TIMESTAMP,
    BrokerWire,
    MappingWire,
    QueueWire,
    StreamWire,
    format_wire,
    read_options,
)
from fabric.providers.core.retry import poll_until
from fabric.system.cloud1_account import read_error_code

_QUEUES = "sqs"
_BROKER_SERVICES = ("kafka", "mq")
_SERVICES = (_QUEUES, "kinesis", "dynamodb", *_BROKER_SERVICES)
_OWN_BROKERS = "KAFKA_BOOTSTRAP_SERVERS"
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


def set_mapping(work: Cloud1Work, wire: MappingWire, alias: str) -> None:
    """Create or update the mapping. A mapping in deletion is waited for."""
    wanted, asked = read_mapping(_build_source(wire, alias)), _build_mapping_settings(wire)
    fixed = _build_fixed_settings(wire)
    new = {
        **_build_source(wire, alias),
        **fixed,
        **{name: one for name, one in asked.items() if one not in _EMPTY},
    }
    if isinstance(wire, BrokerWire) and not asked[_WINDOW]:
        del new[_WINDOW]  # AWS waits half a second by default

    def put() -> bool | None:
        there = next((one for one in list_mappings(work, alias) if read_mapping(one) == wanted), {})
        for line in _list_kept_settings(wire, fixed, there):
            work.scope.watch.hear(line)
        done = False
        # A mapping in deletion blocks a new one until it is deleted.
        with ignore_codes(CONFLICT, GONE):
            if not there:
                retry_on_conflict(work, lambda: _create_mapping(work, alias, new))
            elif there["State"] != "Deleting" and (changed := _find_differences(there, asked)):
                retry_on_conflict(work, lambda: _update_mapping(work, there, changed))
            done = not there or there["State"] != "Deleting"
        return done or None

    if poll_until(put, work.scope.waiting, work.scope.watch) is None:
        message = f"the event source mapping of the {format_wire(wire)} is still being deleted"
        raise FabricError(Problem("provider/not-ready", message, "deploy again in a minute"))


def _build_fixed_settings(wire: MappingWire) -> dict[str, Any]:
    """Build what AWS sets only when a mapping is created."""
    found: dict[str, Any] = {}
    if isinstance(wire, QueueWire) or not wire.position:
        return found
    found["StartingPosition"] = wire.position
    options = read_options(wire)
    if wire.position == AT_TIMESTAMP:
        found[_TIME] = options["startingPositionTimestamp"]
    group = options.get("groupId")
    if isinstance(wire, BrokerWire) and group:
        found[_GROUPS[wire.is_own]] = {"ConsumerGroupId": group}
    return found


# By whether the brokers of Kafka are own ones.
_GROUPS = {
    True: "SelfManagedKafkaEventSourceConfig",
    False: "AmazonManagedKafkaEventSourceConfig",
}
_TIME = "StartingPositionTimestamp"
_FIXED_KEYS = {
    "StartingPosition": "startingPosition",
    _TIME: "startingPositionTimestamp",
    **dict.fromkeys(_GROUPS.values(), "groupId"),
}


def _list_kept_settings(
    wire: MappingWire, fixed: Mapping[str, Any], there: Mapping[str, Any]
) -> Iterator[str]:
    for name, wanted in fixed.items():
        kept = there.get(name, "")
        kept = int(kept.timestamp()) if isinstance(kept, datetime) else kept
        if kept and kept != wanted:
            shown = kept.get("ConsumerGroupId", "") if isinstance(kept, dict) else kept
            said = f"{format_wire(wire)} keeps its `{_FIXED_KEYS[name]}` {shown}"
            yield f"{said}: AWS sets it only when the trigger is created"


_WINDOW = "MaximumBatchingWindowInSeconds"


def _build_mapping_settings(wire: MappingWire) -> dict[str, object]:
    """Build all settings. A setting removed from the config must return to its default."""
    options = read_options(wire)
    filters = [{"Pattern": json.dumps(one, sort_keys=True)} for one in options.get("filters", ())]
    common: dict[str, object] = {"FilterCriteria": {"Filters": filters}}
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
    common |= {
        "BatchSize": options.get("batchSize") or _STREAM_BATCH,
        _WINDOW: options.get("maximumBatchingWindowSeconds", 0),
        "Enabled": options.get("enabled", True),
    }
    if isinstance(wire, BrokerWire):
        common["SourceAccessConfigurations"] = _build_access(wire, options)
        return common if wire.is_queue else {**common, **_build_kafka_settings(options)}
    return {
        **common,
        "ParallelizationFactor": options.get("parallelizationFactor", 1),
        "BisectBatchOnFunctionError": options.get("bisectOnError", False),
        "MaximumRetryAttempts": options.get("maximumRetryAttempts", -1),
        "MaximumRecordAgeInSeconds": options.get("maximumRecordAge", -1),
        "TumblingWindowInSeconds": options.get("tumblingWindowSeconds", 0),
        "FunctionResponseTypes": [response] if response else [],
        "DestinationConfig": {"OnFailure": {"Destination": failed} if failed else {}},
    }


def _build_kafka_settings(options: Mapping[str, Any]) -> dict[str, object]:
    failed, pollers = options.get("onFailure"), options.get("pollers", {})
    counts = (("min", "MinimumPollers"), ("max", "MaximumPollers"))
    return {
        "DestinationConfig": {"OnFailure": {"Destination": failed} if failed else {}},
        "ProvisionedPollerConfig": {field: pollers[key] for key, field in counts if key in pollers},
    }


# The types of accesses at AWS, and the prefixes of their values.
_ACCESS_TYPES = {
    "saslPlainAuth": ("BASIC_AUTH", ""),
    "saslScram256Auth": ("SASL_SCRAM_256_AUTH", ""),
    "saslScram512Auth": ("SASL_SCRAM_512_AUTH", ""),
    "clientCertificateTlsAuth": ("CLIENT_CERTIFICATE_TLS_AUTH", ""),
    "serverRootCaCertificate": ("SERVER_ROOT_CA_CERTIFICATE", ""),
    "vpcSubnet": ("VPC_SUBNET", "subnet:"),
    "vpcSecurityGroup": ("VPC_SECURITY_GROUP", "security_group:"),
}


def _build_access(wire: BrokerWire, options: Mapping[str, Any]) -> list[dict[str, str]]:
    rows = [
        (*_ACCESS_TYPES[one["type"]], one[BROKER_ACCESS[one["type"]]])
        for one in options.get("access", ())
    ]
    if wire.is_queue:
        rows.append(("BASIC_AUTH", "", options["secret"]))
        if "virtualHost" in options:
            rows.append(("VIRTUAL_HOST", "", options["virtualHost"]))
    return [{"Type": kind, "URI": prefix + text} for kind, prefix, text in rows]


def _create_mapping(work: Cloud1Work, alias: str, asked: Mapping[str, object]) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.create_event_source_mapping(
        FunctionName=alias, **asked
    )
    return made


def _update_mapping(
    work: Cloud1Work, there: Mapping[str, Any], asked: Mapping[str, object]
) -> Mapping[str, Any]:
    made: Mapping[str, Any] = work.functions.update_event_source_mapping(
        UUID=there["UUID"], **asked
    )
    return made


def list_changed_settings(there: Mapping[str, Any], wire: MappingWire) -> list[str]:
    """List the settings of a mapping that a release would change, by their keys in the config.

    Records have no secrets, so settings with secrets cannot be compared.
    """
    asked = _build_mapping_settings(wire)
    known = {name: one for name, one in asked.items() if REDACTED not in json.dumps(one)}
    return sorted(_CONFIG_KEYS[name] for name in _find_differences(there, known))


_CONFIG_KEYS = {
    "BatchSize": "batchSize",
    "BisectBatchOnFunctionError": "bisectOnError",
    "DestinationConfig": "onFailure",
    "Enabled": "enabled",
    "FilterCriteria": "filters",
    "FunctionResponseTypes": "functionResponseType",
    "MaximumRecordAgeInSeconds": "maximumRecordAge",
    "MaximumRetryAttempts": "maximumRetryAttempts",
    "ParallelizationFactor": "parallelizationFactor",
    "ProvisionedPollerConfig": "pollers",
    "ScalingConfig": "maximumConcurrency",
    "TumblingWindowInSeconds": "tumblingWindowSeconds",
    _WINDOW: "maximumBatchingWindowSeconds",
    "SourceAccessConfigurations": "access",
}


def _find_differences(there: Mapping[str, Any], asked: Mapping[str, object]) -> dict[str, object]:
    shown = {**there, "Enabled": there["State"] not in ("Disabled", "Disabling")}
    access = shown.get(_ACCESS)
    if access:  # in any order
        asked = {**asked, _ACCESS: _sort_access(asked.get(_ACCESS, ()))}
        shown[_ACCESS] = _sort_access(access)
    return {name: one for name, one in asked.items() if not _is_same(shown.get(name), one)}


_ACCESS = "SourceAccessConfigurations"


def _sort_access(rows: Any) -> list[Mapping[str, str]]:
    return sorted(rows, key=lambda one: (one["Type"], one["URI"]))


def _is_same(shown: Any, wanted: object) -> bool:
    """Compare a setting. AWS omits empty ones."""
    if wanted in _EMPTY:
        return shown is None or shown in _EMPTY
    return bool((shown or type(wanted)()) == wanted)


def drop_mapping(work: Cloud1Work, wire: MappingWire, alias: str) -> None:
    """Delete the mapping only; messages stay in the queue, stream or broker."""
    wanted = read_mapping(_build_source(wire, alias))
    for one in list_mappings(work, alias):
        if read_mapping(one) == wanted and one["State"] != "Deleting":
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
        found += (one for one in _fetch_mappings(work, which) if _is_supported(one))
    return found


def _fetch_mappings(work: Cloud1Work, which: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    for page in work.functions.get_paginator("list_event_source_mappings").paginate(**which):
        yield from page["EventSourceMappings"]


def _is_supported(mapping: Mapping[str, Any]) -> bool:
    return _read_service(mapping) in _SERVICES or bool(_list_own_brokers(mapping))


def _list_own_brokers(mapping: Mapping[str, Any]) -> list[str]:
    endpoints = mapping.get("SelfManagedEventSource", {}).get("Endpoints", {})
    return sorted(endpoints.get(_OWN_BROKERS, ()))


def read_mapping(mapping: Mapping[str, Any]) -> MappingWire:
    """Return the identity of a mapping: its event source."""
    source = _read_source_arn(mapping)
    brokers = _list_own_brokers(mapping)
    if brokers or _read_service(mapping) in _BROKER_SERVICES:
        channels = (*mapping.get("Topics", ()), *mapping.get("Queues", ()))
        return BrokerWire(source or ",".join(brokers), ",".join(channels))
    is_queue = _read_service(mapping) == _QUEUES
    return QueueWire(read_last_part(source)) if is_queue else StreamWire(source)


def _read_service(mapping: Mapping[str, Any]) -> str:
    source = _read_source_arn(mapping)
    return source.split(":")[2] if source.startswith("arn:") else ""


def _read_source_arn(mapping: Mapping[str, Any]) -> str:
    return str(mapping.get("EventSourceArn", ""))


def _build_source(wire: MappingWire, alias: str) -> dict[str, Any]:
    match wire:
        case BrokerWire(source=source, channel=channel):
            channels = {"Queues" if wire.is_queue else "Topics": [channel]}
            if wire.is_own:
                endpoints = {"Endpoints": {_OWN_BROKERS: source.split(",")}}
                return {"SelfManagedEventSource": endpoints, **channels}
            return {"EventSourceArn": source, **channels}
        case StreamWire(stream=stream):
            return {"EventSourceArn": stream}
        case QueueWire(queue=queue):
            return {"EventSourceArn": parse_arn_home(alias).of(_QUEUES, queue)}
