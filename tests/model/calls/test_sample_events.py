"""Sample events have the shapes of the platform's and fit the trigger that they are made for."""

import base64
import hashlib
import json
from typing import Any

import pytest

from fabric.model.calls.sample_events import sample_event
from fabric.model.names import TriggerKind

BODY = b'{"hello":"world"}'
BODY_MD5 = hashlib.md5(BODY).hexdigest()  # noqa: S324
_ON_BUS = {"version", "id", "detail-type", "source", "time", "region", "resources", "detail"}


def made(kind: str, **fields: object) -> Any:
    """As it is once it went through JSON."""
    return json.loads(json.dumps(sample_event(kind, fields)))


def test_http_is_version_two_with_the_older_fields_at_the_top() -> None:
    event = made("http", route="GET:/users/{id}/files/{name+}")
    assert set(event) == {
        "version", "routeKey", "rawPath", "rawQueryString", "headers", "queryStringParameters",
        "pathParameters", "requestContext", "body", "isBase64Encoded", "httpMethod", "path",
    }  # fmt: skip
    assert event["version"] == "2.0"
    assert event["rawPath"] == event["path"] == "/users/1/files/1"
    assert event["pathParameters"] == {"id": "1", "name": "1"}
    assert event["httpMethod"] == event["requestContext"]["http"]["method"] == "GET"
    assert all(name == name.lower() for name in event["headers"])


@pytest.mark.parametrize(
    ("fields", "method", "path"),
    [
        ({}, "GET", "/hello"),
        ({"method": "post", "path": "/x"}, "POST", "/x"),
        ({"route": "ANY:/x"}, "GET", "/x"),
        ({"route": "", "path": "/x"}, "GET", "/x"),
    ],
)
def test_http_takes_its_route_in_both_forms(
    fields: dict[str, object], method: str, path: str
) -> None:
    event = made("http", **fields)
    assert (event["httpMethod"], event["path"]) == (method, path)
    assert (event["body"] is not None) == (method == "POST")


def test_a_queue_message_has_the_digest_of_its_body_and_the_name_of_its_queue() -> None:
    (record,) = made("queue", queue="orders")["Records"]
    assert set(record) == {
        "messageId", "receiptHandle", "body", "attributes", "messageAttributes", "md5OfBody",
        "eventSource", "eventSourceARN", "region",
    }  # fmt: skip
    assert record["body"].encode() == BODY
    assert record["md5OfBody"] == BODY_MD5
    assert record["eventSourceARN"].split(":")[-1] == "orders"
    (whole,) = made("queue", queue="arn:aws:sqs:eu:1:orders")["Records"]
    assert whole["eventSourceARN"] == "arn:aws:sqs:eu:1:orders"


def test_a_stored_object_fits_prefix_suffix_and_event() -> None:
    fields = {"prefix": "my images/", "suffix": ".png", "events": ["objstore1:ObjectRemoved:*"]}
    (record,) = made("storage", bucket="up", **fields)["Records"]
    assert set(record) == {"eventVersion", "eventSource", "eventTime", "eventName", "objstore1"}
    assert record["eventName"] == "ObjectRemoved:Delete"
    assert record["objstore1"]["bucket"] == {"name": "up", "arn": "arn:aws:s3:::up"}
    assert set(record["objstore1"]["object"]) == {"key", "size", "eTag"}
    assert record["objstore1"]["object"]["eTag"] == BODY_MD5
    assert record["objstore1"]["object"]["key"] == "my+images/sample.png"
    (exact,) = made("storage", events=["objstore1:ObjectCreated:Copy"])["Records"]
    assert exact["eventName"] == "ObjectCreated:Copy"


def test_cron_is_a_scheduled_event() -> None:
    event = made("cron", schedule="rate(1 hour)")
    assert set(event) == _ON_BUS
    assert (event["detail-type"], event["source"]) == ("Scheduled Event", "aws.events")


PATTERN = {
    "source": ["shop.orders", "shop.other"],
    "detail-type": [{"prefix": "Order"}],
    "account": ["1"],
    "$or": [{"a": [1]}],
    "detail": {
        "total": [{"numeric": [">", 100, "<=", 200]}],
        "least": [{"numeric": ["<", 5]}],
        "debt": [{"numeric": ["<=", -2]}],
        "narrow": [{"numeric": [">=", 1, "<", 2]}],
        "exact": [{"numeric": ["=", 7]}],
        "odd": [{"numeric": [">", "x"]}],
        "state": [{"anything-but": ["lost"]}],
        "gone": [{"exists": False}],
        "here": [{"exists": True}],
        "none": [None],
        "file": [{"wildcard": "*.png"}],
        "ip": [{"cidr": "10.0.0.0/24"}],
        "new": [{"some-rule": 1}],
        "name": [{"prefix": {"equals-ignore-case": "ab"}}],
        "flag": [True],
        "plain": 3,
    },
}


def test_sample_bus_event_matches_its_pattern() -> None:
    event = made("eventbus", pattern=PATTERN)
    assert set(event) >= _ON_BUS
    assert (event["source"], event["detail-type"]) == ("shop.orders", "Order")
    assert event["account"] == "1"
    assert event["detail"] == {
        "total": 101, "least": 0, "debt": -3, "narrow": 1.5, "exact": 7, "odd": 0,
        "state": "not-lost", "here": "sample", "file": "sample.png", "ip": "10.0.0.0",
        "new": "sample", "name": "ab", "flag": True, "plain": 3,
    }  # fmt: skip


def test_pattern_may_be_json_and_an_invalid_one_is_ignored() -> None:
    assert made("eventbus", pattern=json.dumps(PATTERN)) == made("eventbus", pattern=PATTERN)
    plain = made("eventbus")
    assert set(plain) == _ON_BUS
    assert made("eventbus", pattern="{") == made("eventbus", pattern="") == plain


def test_a_published_message_is_base64_with_the_name_of_its_subscription() -> None:
    event = made("pubsub", topic="orders")
    assert set(event) == {"message", "subscription"}
    assert set(event["message"]) == {"data", "attributes", "messageId", "publishTime"}
    assert json.loads(base64.b64decode(event["message"]["data"])) == {"hello": "world"}
    assert event["subscription"] == "projects/local/subscriptions/orders"
    own = made("pubsub", topic="orders", subscription="projects/p/subscriptions/s")
    assert own["subscription"] == "projects/p/subscriptions/s"


def test_a_log_stream_is_by_topic_and_partition() -> None:
    event = made("logstream", topic="clicks", brokers=["a:1", "b:2"])
    assert event["bootstrapServers"] == "a:1,b:2"
    (record,) = event["records"]["clicks-0"]
    assert set(record) == {
        "topic", "partition", "offset", "timestamp", "key", "value", "headers",
    }  # fmt: skip
    assert json.loads(base64.b64decode(record["value"])) == {"hello": "world"}


def test_a_broker_message_is_by_queue_and_virtual_host() -> None:
    event = made("amqp", queue="jobs", virtualHost="shop")
    (message,) = event["amqpMessagesByQueue"]["jobs::shop"]
    assert set(message) == {"basicProperties", "redelivered", "data"}
    assert list(made("amqp", queue="jobs")["amqpMessagesByQueue"]) == ["jobs::/"]


@pytest.mark.parametrize("kind", TriggerKind)
def test_a_sample_is_the_same_each_time_and_needs_no_field(kind: TriggerKind) -> None:
    assert made(kind) == made(kind)
    assert made(kind)


def test_a_bucket_by_the_event_bus_sends_an_event_of_the_bus() -> None:
    fields = {"bucket": "up", "prefix": "a b/", "suffix": ".png", "viaEventBus": True}
    event = made("storage", events=["objstore1:ObjectCreated:*"], **fields)
    assert set(event) == _ON_BUS | {"account"}
    assert (event["source"], event["detail-type"]) == ("aws.s3", "Object Created")
    assert event["detail"]["object"]["key"] == "a b/sample.png"
    assert event["resources"] == ["arn:aws:s3:::up"]
    removed = made("storage", events=["objstore1:ObjectRemoved:*"], **fields)
    assert removed["detail-type"] == "Object Deleted"


def test_brokers_of_aws_name_their_source() -> None:
    cluster = made("logstream", topic="t", cluster="arn:aws:kafka:x")
    assert (cluster["eventSource"], cluster["eventSourceArn"]) == ("aws:kafka", "arn:aws:kafka:x")
    assert list(cluster["records"]) == ["t-0"]
    assert made("logstream", topic="t", access=[])["records"]
    own = made("logstream", topic="t", brokers=["b:1"], access=[{"type": "vpcSubnet"}])
    assert (own["eventSource"], own["bootstrapServers"]) == ("SelfManagedKafka", "b:1")
    queue = made("amqp", queue="q", broker="arn:aws:mq:x", virtualHost="v")
    assert set(queue) == {"eventSource", "eventSourceArn", "rmqMessagesByQueue"}
    assert list(queue["rmqMessagesByQueue"]) == ["q::v"]


@pytest.mark.parametrize("kind", ["cron", "eventbus"])
def test_the_input_of_the_config_is_the_event(kind: str) -> None:
    assert made(kind, input={"job": "report"}) == {"job": "report"}
