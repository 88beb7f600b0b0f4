"""Sample events for each trigger kind, adapted to the trigger's fields.

Ids and times are constant, so that results are reproducible.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping

from msgspec import DecodeError
from msgspec.json import decode

from fabric.model.names import DEFAULT_ROUTE, TriggerKind
from fabric.model.outcomes.json_struct import Json, JsonObject

# Its topics are those of SNS.
SNS_PROVIDER = "cloud1-lambda"
_PARAMETER = re.compile(r"\{([^{}+]+)\+?\}")
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_AGENT = "fabric"
_HOST = "localhost"


def _build_matching_detail(pattern: object) -> JsonObject:
    """Build an event detail that matches a pattern: `{source: [a, b]}` gives `{source: a}`.

    The pattern can be JSON text.
    """
    if isinstance(pattern, str):
        pattern = _decode_pattern(pattern)
    return _build_matching_fields(pattern) if isinstance(pattern, Mapping) else {}


def _decode_pattern(text: str) -> object:
    try:
        found: object = decode(text)
    except DecodeError:
        return None
    return found


def _build_matching_fields(pattern: Mapping[str, object]) -> JsonObject:
    found = {key: _choose_value(rule) for key, rule in pattern.items() if not key.startswith("$")}
    return {key: value for key, value in found.items() if value is not None}


def _choose_value(rule: object) -> Json:
    """Return a matching value; None if the field must be absent."""
    match rule:
        case Mapping():
            return _build_matching_fields(rule)
        case [Mapping() as first, *_]:
            return _choose_by_rule(first)
        case [str() | bool() | int() | float() as first, *_]:
            return first
        case str() | bool() | int() | float():
            return rule
        case _:
            return None


def _choose_by_rule(rule: Mapping[str, object]) -> Json:
    for word, wanted in rule.items():
        if word in _RULES:
            return _RULES[word](wanted)
    return "sample"


def _choose_number(wanted: object) -> Json:
    """Return a number within the bounds. Each bound is a comparison and a number."""
    items = wanted if isinstance(wanted, list | tuple) else []
    least, most = float("-inf"), float("inf")
    for comparison, bound in zip(items[::2], items[1::2], strict=False):
        if not isinstance(bound, int | float):
            continue
        match comparison:
            case "=":
                return bound
            case ">" | ">=":
                least = max(least, bound)
            case _:
                most = min(most, bound)
    return _choose_between(least, most)


def _choose_between(least: float, most: float) -> Json:
    if least == float("-inf"):
        return 0 if most > 0 else _normalize_number(most - 1)
    return _normalize_number(least + 1 if least + 1 < most else (least + most) / 2)


def _normalize_number(number: float) -> Json:
    return int(number) if float(number).is_integer() else number


def _choose_text(wanted: object) -> str:
    """Return the first accepted text. A rule can wrap texts in another list."""
    while isinstance(wanted, list | tuple) and wanted:
        wanted = wanted[0]
    if isinstance(wanted, Mapping):
        return str(next(iter(wanted.values()), ""))
    return str(wanted)


_RULES: Mapping[str, Callable[[object], Json]] = {
    "prefix": _choose_text,
    "suffix": _choose_text,
    "equals-ignore-case": _choose_text,
    "wildcard": lambda wanted: _choose_text(wanted).replace("*", "sample"),
    "anything-but": lambda wanted: f"not-{_choose_text(wanted)}",
    "exists": lambda wanted: "sample" if wanted else None,
    "numeric": _choose_number,
    "cidr": lambda wanted: _choose_text(wanted).partition("/")[0],
}


def _build_sample_http_event(fields: Mapping[str, object]) -> JsonObject:
    """Build an HTTP event from `route`, or `method` and `path`. Path parameters have the value `1`.

    Fields for older handlers are at the top level.
    """
    method, route_path = _route(fields)
    is_default = route_path == DEFAULT_ROUTE
    key = route_path if is_default else f"{method} {route_path}"
    path = "/" if is_default else _PARAMETER.sub("1", route_path)
    sent = "GET" if method == "ANY" else method
    body = '{"hello":"world"}' if sent in _WITH_BODY else None
    headers: dict[str, Json] = {"host": _HOST, "user-agent": _AGENT, "accept": "*/*"}
    if body:
        headers |= {"content-type": "application/json", "content-length": str(len(body))}
    return {
        "version": "2.0",
        "routeKey": key,
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "queryStringParameters": {},
        "pathParameters": dict.fromkeys(_PARAMETER.findall(route_path), "1"),
        "requestContext": _build_request_context(key, sent, path),
        "body": body,
        "isBase64Encoded": False,
        "httpMethod": sent,
        "path": path,
    }


def _route(fields: Mapping[str, object]) -> tuple[str, str]:
    method, _, path = str(fields.get("route") or "").partition(":")
    if method == DEFAULT_ROUTE:
        return "ANY", DEFAULT_ROUTE
    if not path:
        method, path = str(fields.get("method") or "GET"), str(fields.get("path") or "/hello")
    return method.upper(), path


def _build_request_context(route: str, method: str, path: str) -> JsonObject:
    return {
        "accountId": "000000000000",
        "apiId": "local",
        "domainName": _HOST,
        "domainPrefix": _HOST,
        "http": {
            "method": method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": "127.0.0.1",
            "userAgent": _AGENT,
        },
        "requestId": "00000000-0000-4000-8000-000000000001",
        "routeKey": route,
        "stage": "$default",
        "time": "01/Jan/2026:00:00:00 +0000",
        "timeEpoch": 1_767_225_600_000,
    }


Fields = Mapping[str, object]

_TIME = "2026-01-01T00:00:00Z"
_MILLISECONDS = 1_767_225_600_000
_REGION = "local"
_ACCOUNT = "000000000000"
_ID = "00000000-0000-4000-8000-000000000001"
_BODY = '{"hello":"world"}'
_BODY_MD5 = "fbc24bcc7a1794758fc1327fcfebdaf6"


def sample_event(kind: str, fields: Fields, provider_id: str = "") -> JsonObject:
    """Build a sample event. `fields` are the trigger's config fields; each has a default. Topics of
    AWS have their own events.

    An eventbus pattern can be JSON text. A schedule appears in no platform event. An `input` of the
    config replaces the event.
    """
    given = fields.get("input")
    if isinstance(given, Mapping):
        return dict(given)
    if provider_id == SNS_PROVIDER and kind == TriggerKind.PUBSUB:
        return _build_sns_event(fields)
    return _SAMPLES[TriggerKind(kind)](fields)


def _read_text(fields: Fields, name: str, default: str) -> str:
    """Return a field's text, also if it is empty."""
    return str(fields.get(name) or default)


def _read_first_text(fields: Fields, name: str, default: str) -> str:
    found = fields.get(name)
    return str(found[0]) if isinstance(found, list | tuple) and found else default


def _encode_base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def _queue(fields: Fields) -> JsonObject:
    name = _read_text(fields, "queue", "my-queue")
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
        "md5OfBody": _BODY_MD5,
        "eventSource": "aws:sqs",
        # The name at its end, also where the config has the whole address.
        "eventSourceARN": name
        if name.startswith("arn:")
        else f"arn:aws:sqs:{_REGION}:{_ACCOUNT}:{name}",
        "region": _REGION,
    }
    return {"Records": [record]}


def _build_storage_event(fields: Fields) -> JsonObject:
    if fields.get("viaEventBus"):
        return _build_bucket_bus_event(fields)
    from urllib.parse import quote_plus  # an event of any other kind is there sooner

    bucket = _read_text(fields, "bucket", "my-bucket")
    key = f"{_read_text(fields, 'prefix', '')}sample{_read_text(fields, 'suffix', '.txt')}"
    told = _read_first_text(fields, "events", "objstore1:ObjectCreated:*").partition(":")[2]
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
                "eTag": _BODY_MD5,
            },
        },
    }
    return {"Records": [record]}


def _build_bucket_bus_event(fields: Fields) -> JsonObject:
    """Build an event of a bucket in the form of EventBridge, which does not encode keys."""
    bucket = _read_text(fields, "bucket", "my-bucket")
    told = _read_first_text(fields, "events", "objstore1:ObjectCreated:*")
    is_removed = "Removed" in told
    key = f"{_read_text(fields, 'prefix', '')}sample{_read_text(fields, 'suffix', '.txt')}"
    detail: JsonObject = {
        "version": "0",
        "bucket": {"name": bucket},
        "object": {
            "key": key,
            **({} if is_removed else {"size": len(_BODY), "etag": _BODY_MD5}),
            "sequencer": "0000000000000001",
        },
        "request-id": "SAMPLE",
        "requester": _ACCOUNT,
        "reason": "DeleteObject" if is_removed else "PutObject",
    }
    kind = "Object Deleted" if is_removed else "Object Created"
    event = _build_bus_event(kind, "aws.s3", detail, (f"arn:aws:s3:::{bucket}",))
    return {**event, "account": _ACCOUNT}


def _build_bus_event(
    detail_type: str, source: str, detail: Json, resources: tuple[str, ...]
) -> JsonObject:
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


def _build_cron_event(_fields: Fields) -> JsonObject:
    rule = f"arn:aws:events:{_REGION}:{_ACCOUNT}:rule/sample"
    return _build_bus_event("Scheduled Event", "aws.events", {}, (rule,))


def _build_eventbus_event(fields: Fields) -> JsonObject:
    plain = _build_bus_event("Sample", "my.app", {"hello": "world"}, ())
    return {**plain, **_build_matching_detail(fields.get("pattern"))}


def _build_pubsub_event(fields: Fields) -> JsonObject:
    topic = _read_text(fields, "topic", "my-topic")
    subscription = _read_text(fields, "subscription", topic)
    is_whole = "/" in subscription
    return {
        "message": {
            "data": _encode_base64(_BODY),
            "attributes": {},
            "messageId": "1",
            "publishTime": _TIME,
        },
        "subscription": subscription
        if is_whole
        else f"projects/local/subscriptions/{subscription}",
    }


def _build_sns_event(fields: Fields) -> JsonObject:
    topic = _read_text(fields, "topic", "my-topic")
    arn = topic if topic.startswith("arn:") else f"arn:aws:sns:{_REGION}:{_ACCOUNT}:{topic}"
    notification: JsonObject = {
        "Type": "Notification",
        "MessageId": _ID,
        "TopicArn": arn,
        "Subject": None,
        "Message": _BODY,
        "Timestamp": _TIME,
        "MessageAttributes": {},
    }
    return {
        "Records": [
            {
                "EventSource": "aws:sns",
                "EventVersion": "1.0",
                "EventSubscriptionArn": f"{arn}:{_ID}",
                "Sns": notification,
            }
        ]
    }


def _build_stream_event(stream: str) -> JsonObject:
    """Build an event of a Kinesis or DynamoDB stream."""
    service = "dynamodb" if ":dynamodb:" in stream else "kinesis"
    record: JsonObject = {
        "eventID": "shardId-000000000000:1",
        "eventSource": f"aws:{service}",
        "eventSourceARN": stream,
        "awsRegion": _REGION,
    }
    if service == "dynamodb":
        image: JsonObject = {"hello": {"S": "world"}}
        change: JsonObject = {"Keys": image, "NewImage": image, "SequenceNumber": "1"}
        return {"Records": [{**record, "eventName": "INSERT", "dynamodb": change}]}
    data: JsonObject = {
        "partitionKey": "sample",
        "sequenceNumber": "1",
        "data": _encode_base64(_BODY),
    }
    return {"Records": [{**record, "eventName": "aws:kinesis:record", "kinesis": data}]}


def _build_logstream_event(fields: Fields) -> JsonObject:
    if fields.get("stream"):
        return _build_stream_event(_read_text(fields, "stream", ""))
    topic = _read_text(fields, "topic", "my-topic")
    brokers = fields.get("brokers")
    addresses = brokers if isinstance(brokers, list | tuple) else ()
    record: JsonObject = {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestamp": _MILLISECONDS,
        "key": _encode_base64("sample"),
        "value": _encode_base64(_BODY),
        "headers": [],
    }
    event: JsonObject = {
        "bootstrapServers": ",".join(map(str, addresses)) or "localhost:9092",
        "records": {f"{topic}-0": [record]},
    }
    if fields.get("cluster"):
        return {"eventSource": "aws:kafka", "eventSourceArn": str(fields["cluster"]), **event}
    return {"eventSource": "SelfManagedKafka", **event} if fields.get("access") else event


def _build_amqp_event(fields: Fields) -> JsonObject:
    queue = _read_text(fields, "queue", "my-queue")
    message: JsonObject = {
        "basicProperties": {
            "contentType": "application/json",
            "headers": {},
            "deliveryMode": 2,
            "messageId": _ID,
            "timestamp": _TIME,
        },
        "redelivered": False,
        "data": _encode_base64(_BODY),
    }
    messages: JsonObject = {f"{queue}::{_read_text(fields, 'virtualHost', '/')}": [message]}
    if fields.get("broker"):
        # The form of RabbitMQ: an ARN does not contain the engine.
        source = {"eventSource": "aws:rmq", "eventSourceArn": str(fields["broker"])}
        return {**source, "rmqMessagesByQueue": messages}
    return {"amqpMessagesByQueue": messages}


_SAMPLES: Mapping[TriggerKind, Callable[[Fields], JsonObject]] = {
    TriggerKind.HTTP: _build_sample_http_event,
    TriggerKind.QUEUE: _queue,
    TriggerKind.STORAGE: _build_storage_event,
    TriggerKind.CRON: _build_cron_event,
    TriggerKind.EVENTBUS: _build_eventbus_event,
    TriggerKind.PUBSUB: _build_pubsub_event,
    TriggerKind.LOGSTREAM: _build_logstream_event,
    TriggerKind.AMQP: _build_amqp_event,
}
