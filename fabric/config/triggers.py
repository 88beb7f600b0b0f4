"""Trigger nodes to trigger values, one section per kind."""

from collections.abc import Callable
from collections.abc import Mapping as Mapping_

from fabric.config.schedule import normalize_schedule
from fabric.config.schema.shapes import Field
from fabric.config.schema.triggers import (
    AMQP_OPTIONS,
    CRON_OPTIONS,
    EVENTBUS_OPTIONS,
    HTTP_OPTIONS,
    PUBSUB_OPTIONS,
    QUEUE_OPTIONS,
    STORAGE_OPTIONS,
    STREAM_OPTIONS,
    TRIGGER,
)
from fabric.config.sections import Reader, Section, find_json
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
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, convert_to_plain, find_child
from fabric.model.names import DEFAULT_ROUTE, TriggerKind

_KINDS = {kind.value: kind for kind in TriggerKind}


def parse_function_triggers(function: Mapping) -> tuple[Trigger, ...]:
    return tuple(parse_trigger(kind, node) for kind, node in list_typed_triggers(function))


def parse_trigger(kind: TriggerKind, node: Mapping) -> Trigger:
    return _READERS[kind](node)


def list_typed_triggers(function: Mapping) -> tuple[tuple[TriggerKind, Mapping], ...]:
    """Kind and node of every trigger that has a known kind."""
    found = find_child(function, "triggers")
    items = found.items if isinstance(found, Sequence) else ()
    return tuple(
        (kind, item)
        for item in items
        if isinstance(item, Mapping) and (kind := _KINDS.get(read.read_text(item, "type")))
    )


def _find_setting(node: Node | None, key: str) -> str | None:
    """A name as it is, settings as JSON, and nothing for `false`."""
    found = find_child(node, key)
    if not isinstance(found, Scalar):
        return find_json(node, key)
    return None if read.read_optional_flag(node, key) is False else found.text


def _read_schedule(node: Node | None, key: str) -> str:
    return normalize_schedule(read.read_text(node, key))


def _read_options(fields: tuple[Field, ...]) -> Mapping_[str, Reader]:
    """Return the reader of the keys that only some providers support: one JSON value."""
    keys = [one.name for one in fields]

    def find(node: Node | None, _key: str) -> str | None:
        found = {key: child for key in keys if (child := find_child(node, key)) is not None}
        said = {key: convert_to_plain(child) for key, child in found.items()}
        return read.encode_canonical(said) if said else None

    return {"options": find}


_KEYS = dict(TRIGGER.kinds)
_HTTP = Section(
    HttpTrigger,
    _KEYS[TriggerKind.HTTP],
    readers={
        "cors": _find_setting,
        "authorizer": _find_setting,
        **_read_options(HTTP_OPTIONS),
    },
    given=("method", "path"),
)
_QUEUE = {
    "window_seconds": "maximumBatchingWindowSeconds",
    "response_type": "functionResponseType",
}


def _parse_http(node: Node) -> HttpTrigger:
    method, _, path = read.read_text(node, "route").partition(":")
    if method == DEFAULT_ROUTE:
        method, path = "ANY", DEFAULT_ROUTE
    return _HTTP.read(
        node,
        method=method or read.read_text(node, "method", "GET"),
        path=path or read.read_text(node, "path"),
    )


_READERS: dict[TriggerKind, Callable[[Node], Trigger]] = {
    TriggerKind.HTTP: _parse_http,
    TriggerKind.CRON: Section(
        CronTrigger,
        _KEYS[TriggerKind.CRON],
        readers={"schedule": _read_schedule, **_read_options(CRON_OPTIONS)},
    ).read,
    TriggerKind.QUEUE: Section(
        QueueTrigger,
        _KEYS[TriggerKind.QUEUE],
        keys=_QUEUE,
        readers=_read_options(QUEUE_OPTIONS),
    ).read,
    TriggerKind.STORAGE: Section(
        StorageTrigger, _KEYS[TriggerKind.STORAGE], readers=_read_options(STORAGE_OPTIONS)
    ).read,
    TriggerKind.EVENTBUS: Section(
        EventbusTrigger, _KEYS[TriggerKind.EVENTBUS], readers=_read_options(EVENTBUS_OPTIONS)
    ).read,
    TriggerKind.PUBSUB: Section(
        PubsubTrigger, _KEYS[TriggerKind.PUBSUB], readers=_read_options(PUBSUB_OPTIONS)
    ).read,
    TriggerKind.LOGSTREAM: Section(
        LogstreamTrigger, _KEYS[TriggerKind.LOGSTREAM], readers=_read_options(STREAM_OPTIONS)
    ).read,
    TriggerKind.AMQP: Section(
        AmqpTrigger, _KEYS[TriggerKind.AMQP], readers=_read_options(AMQP_OPTIONS)
    ).read,
}
