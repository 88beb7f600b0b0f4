"""One sample event for each kind of trigger, made to fit a trigger's own fields: one table.

Ids and times never change, so that what is made of them is the same each day.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import md5
from urllib.parse import quote_plus

from fabric.model.names import TriggerKind
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.sample_detail import matching
from fabric.model.sample_request import http_event

Fields = Mapping[str, object]

_TIME = "2026-01-01T00:00:00Z"
_MILLISECONDS = 1_767_225_600_000
_REGION = "local"
_ACCOUNT = "000000000000"
_ID = "00000000-0000-4000-8000-000000000001"
_BODY = '{"hello":"world"}'


def sample_event(kind: str, fields: Fields) -> JsonObject:
    """`fields` are those of the trigger, under their names in the config; each has a default.

    The pattern of an eventbus may be JSON as well. A schedule shows in no event of the platform.
    """
    return _SAMPLES[TriggerKind(kind)](fields)


def _text(fields: Fields, name: str, default: str) -> str:
    """A field's text, also where it is there and empty."""
    return str(fields.get(name) or default)


def _first(fields: Fields, name: str, default: str) -> str:
    found = fields.get(name)
    return str(found[0]) if isinstance(found, list | tuple) and found else default


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def _queue(fields: Fields) -> JsonObject:
    name = _text(fields, "queue", "my-queue")
    attributes = {
        "ApproximateReceiveCount": "1",
        "SentTimestamp": str(_MILLISECONDS),
        "SenderId": _ACCOUNT,
        "ApproximateFirstReceiveTimestamp": str(_MILLISECONDS),
    }
    record: JsonObject = {
        "messageId": _ID,
        "receiptHandle": "sample-receipt-handle",
        "body": _BODY,
        "attributes": attributes,
        "messageAttributes": {},
        "md5OfBody": md5(_BODY.encode(), usedforsecurity=False).hexdigest(),
        "eventSource": "aws:sqs",
        # The name at its end, also where the config has the whole address.
        "eventSourceARN": name
        if name.startswith("arn:")
        else f"arn:aws:sqs:{_REGION}:{_ACCOUNT}:{name}",
        "region": _REGION,
    }
    return {"Records": [record]}


def _storage(fields: Fields) -> JsonObject:
    bucket = _text(fields, "bucket", "my-bucket")
    key = f"{_text(fields, 'prefix', '')}sample{_text(fields, 'suffix', '.txt')}"
    told = _first(fields, "events", "objstore1:ObjectCreated:*").partition(":")[2]
    record: JsonObject = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventTime": "2026-01-01T00:00:00.000Z",
        "eventName": told.replace("*", "Delete" if "Removed" in told else "Put"),
        "objstore1": {
            "bucket": {"name": bucket, "arn": f"arn:aws:s3:::{bucket}"},
            # The platform encodes keys as forms are.
            "object": {
                "key": quote_plus(key, safe="/"),
                "size": len(_BODY),
                "eTag": md5(_BODY.encode(), usedforsecurity=False).hexdigest(),
            },
        },
    }
    return {"Records": [record]}


def _on_bus(detail_type: str, source: str, detail: Json, resources: tuple[str, ...]) -> JsonObject:
    return {
        "version": "0",
        "id": _ID,
        "detail-type": detail_type,
        "source": source,
        "time": _TIME,
        "region": _REGION,
        "resources": resources,
        "detail": detail,
    }


def _cron(_fields: Fields) -> JsonObject:
    rule = f"arn:aws:events:{_REGION}:{_ACCOUNT}:rule/sample"
    return _on_bus("Scheduled Event", "aws.events", {}, (rule,))


def _eventbus(fields: Fields) -> JsonObject:
    plain = _on_bus("Sample", "my.app", {"hello": "world"}, ())
    return {**plain, **matching(fields.get("pattern"))}


def _pubsub(fields: Fields) -> JsonObject:
    topic = _text(fields, "topic", "my-topic")
    subscription = _text(fields, "subscription", topic)
    is_whole = "/" in subscription
    return {
        "message": {
            "data": _base64(_BODY),
            "attributes": {},
            "messageId": "1",
            "publishTime": _TIME,
        },
        "subscription": subscription
        if is_whole
        else f"projects/local/subscriptions/{subscription}",
    }


def _logstream(fields: Fields) -> JsonObject:
    topic = _text(fields, "topic", "my-topic")
    brokers = fields.get("brokers")
    addresses = brokers if isinstance(brokers, list | tuple) else ()
    record: JsonObject = {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestamp": _MILLISECONDS,
        "key": _base64("sample"),
        "value": _base64(_BODY),
        "headers": [],
    }
    return {
        "bootstrapServers": ",".join(map(str, addresses)) or "localhost:9092",
        "records": {f"{topic}-0": [record]},
    }


def _amqp(fields: Fields) -> JsonObject:
    queue = _text(fields, "queue", "my-queue")
    message: JsonObject = {
        "basicProperties": {
            "contentType": "application/json",
            "headers": {},
            "deliveryMode": 2,
            "messageId": _ID,
            "timestamp": _TIME,
        },
        "redelivered": False,
        "data": _base64(_BODY),
    }
    return {
        "amqpMessagesByQueue": {f"{queue}::{_text(fields, 'virtualHost', '/')}": [message]},
    }


_SAMPLES: Mapping[TriggerKind, Callable[[Fields], JsonObject]] = {
    TriggerKind.HTTP: http_event,
    TriggerKind.QUEUE: _queue,
    TriggerKind.STORAGE: _storage,
    TriggerKind.CRON: _cron,
    TriggerKind.EVENTBUS: _eventbus,
    TriggerKind.PUBSUB: _pubsub,
    TriggerKind.LOGSTREAM: _logstream,
    TriggerKind.AMQP: _amqp,
}
