"""Trigger nodes to trigger values, one maker per kind."""

from collections.abc import Callable

from fabric.config.schedule import normalize_schedule
from fabric.config.values import (
    AmqpTrigger,
    CronTrigger,
    EventbusTrigger,
    HttpTrigger,
    LogstreamTrigger,
    PubsubTrigger,
    QueueTrigger,
    StorageTrigger,
    Trigger,
)
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, find_child
from fabric.model.names import TriggerKind

_KINDS = {kind.value: kind for kind in TriggerKind}


def parse_function_triggers(function: Mapping) -> tuple[Trigger, ...]:
    return tuple(_MAKERS[kind](node) for kind, node in list_typed_triggers(function))


def list_typed_triggers(function: Mapping) -> tuple[tuple[TriggerKind, Mapping], ...]:
    """Kind and node of every trigger that has a known kind."""
    found = find_child(function, "triggers")
    items = found.items if isinstance(found, Sequence) else ()
    return tuple(
        (kind, item)
        for item in items
        if isinstance(item, Mapping) and (kind := _KINDS.get(read.read_text(item, "type")))
    )


def _parse_http(node: Node) -> HttpTrigger:
    route = read.read_text(node, "route")
    method, _, path = route.partition(":")
    if not route:
        method, path = read.read_text(node, "method", "GET"), read.read_text(node, "path")
    return HttpTrigger(method, path, _read_setting(node, "cors"), _read_setting(node, "authorizer"))


def _read_setting(node: Node, key: str) -> str:
    """A name as it is, settings as JSON, and nothing for `false`."""
    found = find_child(node, key)
    if isinstance(found, Scalar):
        return "" if read.read_optional_flag(node, key) is False else found.text
    return read.encode_node(found)


def _parse_cron(node: Node) -> CronTrigger:
    return CronTrigger(
        normalize_schedule(read.read_text(node, "schedule")), read.read_text(node, "timezone")
    )


def _queue(node: Node) -> QueueTrigger:
    return QueueTrigger(
        queue=read.read_text(node, "queue"),
        batch_size=read.read_integer(node, "batchSize", 10),
        window_seconds=read.read_integer(node, "maximumBatchingWindowSeconds"),
        response_type=read.read_text(node, "functionResponseType"),
        enabled=read.read_flag(node, "enabled", default=True),
    )


def _parse_storage(node: Node) -> StorageTrigger:
    return StorageTrigger(
        bucket=read.read_text(node, "bucket"),
        events=read.read_texts(node, "events"),
        prefix=read.read_text(node, "prefix"),
        suffix=read.read_text(node, "suffix"),
        existing_bucket=read.read_flag(node, "existingBucket"),
    )


def _parse_eventbus(node: Node) -> EventbusTrigger:
    return EventbusTrigger(
        read.encode_node(find_child(node, "pattern")), read.read_text(node, "bus", "default")
    )


def _parse_pubsub(node: Node) -> PubsubTrigger:
    return PubsubTrigger(read.read_text(node, "topic"), read.read_text(node, "subscription"))


def _parse_logstream(node: Node) -> LogstreamTrigger:
    return LogstreamTrigger(
        topic=read.read_text(node, "topic"),
        brokers=read.read_texts(node, "brokers"),
        group_id=read.read_text(node, "groupId"),
        batch_size=read.read_integer(node, "batchSize"),
        starting_position=read.read_text(node, "startingPosition"),
    )


def _parse_amqp(node: Node) -> AmqpTrigger:
    return AmqpTrigger(
        queue=read.read_text(node, "queue"),
        url=read.read_text(node, "url"),
        exchange=read.read_text(node, "exchange"),
        routing_key=read.read_text(node, "routingKey"),
        virtual_host=read.read_text(node, "virtualHost"),
        batch_size=read.read_integer(node, "batchSize"),
    )


_MAKERS: dict[TriggerKind, Callable[[Node], Trigger]] = {
    TriggerKind.HTTP: _parse_http,
    TriggerKind.CRON: _parse_cron,
    TriggerKind.QUEUE: _queue,
    TriggerKind.STORAGE: _parse_storage,
    TriggerKind.EVENTBUS: _parse_eventbus,
    TriggerKind.PUBSUB: _parse_pubsub,
    TriggerKind.LOGSTREAM: _parse_logstream,
    TriggerKind.AMQP: _parse_amqp,
}
