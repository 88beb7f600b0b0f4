"""Trigger nodes to trigger values, one maker per kind."""

from collections.abc import Callable

from fabric.config.schedule import normalised
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
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, child
from fabric.model.names import TriggerKind

_KINDS = {kind.value: kind for kind in TriggerKind}


def triggers_of(function: Mapping) -> tuple[Trigger, ...]:
    return tuple(_MAKERS[kind](node) for kind, node in kinds_of(function))


def kinds_of(function: Mapping) -> tuple[tuple[TriggerKind, Mapping], ...]:
    """Kind and node of every trigger that has a known kind."""
    found = child(function, "triggers")
    items = found.items if isinstance(found, Sequence) else ()
    return tuple(
        (kind, item)
        for item in items
        if isinstance(item, Mapping) and (kind := _KINDS.get(read.text(item, "type")))
    )


def _http(node: Node) -> HttpTrigger:
    route = read.text(node, "route")
    method, _, path = route.partition(":")
    if not route:
        method, path = read.text(node, "method", "GET"), read.text(node, "path")
    return HttpTrigger(method, path, _setting(node, "cors"), _setting(node, "authorizer"))


def _setting(node: Node, key: str) -> str:
    """A name as it is, settings as JSON, and nothing for `false`."""
    found = child(node, key)
    if isinstance(found, Scalar):
        return "" if read.optional_flag(node, key) is False else found.text
    return read.as_json(found)


def _cron(node: Node) -> CronTrigger:
    return CronTrigger(normalised(read.text(node, "schedule")), read.text(node, "timezone"))


def _queue(node: Node) -> QueueTrigger:
    return QueueTrigger(
        queue=read.text(node, "queue"),
        batch_size=read.whole(node, "batchSize", 10),
        window_seconds=read.whole(node, "maximumBatchingWindowSeconds"),
        response_type=read.text(node, "functionResponseType"),
        enabled=read.flag(node, "enabled", default=True),
    )


def _storage(node: Node) -> StorageTrigger:
    return StorageTrigger(
        bucket=read.text(node, "bucket"),
        events=read.texts(node, "events"),
        prefix=read.text(node, "prefix"),
        suffix=read.text(node, "suffix"),
        existing_bucket=read.flag(node, "existingBucket"),
    )


def _eventbus(node: Node) -> EventbusTrigger:
    return EventbusTrigger(read.as_json(child(node, "pattern")), read.text(node, "bus", "default"))


def _pubsub(node: Node) -> PubsubTrigger:
    return PubsubTrigger(read.text(node, "topic"), read.text(node, "subscription"))


def _logstream(node: Node) -> LogstreamTrigger:
    return LogstreamTrigger(
        topic=read.text(node, "topic"),
        brokers=read.texts(node, "brokers"),
        group_id=read.text(node, "groupId"),
        batch_size=read.whole(node, "batchSize"),
        starting_position=read.text(node, "startingPosition"),
    )


def _amqp(node: Node) -> AmqpTrigger:
    return AmqpTrigger(
        queue=read.text(node, "queue"),
        url=read.text(node, "url"),
        exchange=read.text(node, "exchange"),
        routing_key=read.text(node, "routingKey"),
        virtual_host=read.text(node, "virtualHost"),
        batch_size=read.whole(node, "batchSize"),
    )


_MAKERS: dict[TriggerKind, Callable[[Node], Trigger]] = {
    TriggerKind.HTTP: _http,
    TriggerKind.CRON: _cron,
    TriggerKind.QUEUE: _queue,
    TriggerKind.STORAGE: _storage,
    TriggerKind.EVENTBUS: _eventbus,
    TriggerKind.PUBSUB: _pubsub,
    TriggerKind.LOGSTREAM: _logstream,
    TriggerKind.AMQP: _amqp,
}
