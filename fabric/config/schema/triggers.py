"""Which keys each kind of trigger has."""

import re
from collections.abc import Iterable

from fabric.config.schema.shapes import (
    Anything,
    Either,
    Field,
    Fields,
    Flag,
    Integer,
    Kinds,
    Many,
    Number,
    OneOf,
    Table,
    Text,
    match_whole,
)
from fabric.model.calls.cors import CORS_KEYS
from fabric.model.calls.mapped_events import INTEGRATION
from fabric.model.names import TriggerKind

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "ANY")
FILLED = Text(r"\S", "text that is not empty")
_METHOD = "(?:" + "|".join(METHODS) + ")"
ROUTE = Text(
    match_whole(_METHOD + r":/\S*|\$default"),
    "`<METHOD>:/<path>`, such as `GET:/hello`, or `$default`",
)
_PATH = Text(match_whole(r"/\S*"), "a path that starts with `/` and contains no spaces")
_TEXTS = Many(FILLED)
BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
BUCKET_HINT = "use 3 to 63 lowercase letters, digits, dots and hyphens"
CORS = Either((Flag(), FILLED, Fields((), is_open=True, accepts=CORS_KEYS.__contains__)))
_FILTERS = Field(
    "filters",
    Many(Anything(), 1),
    "Patterns of the messages to receive (AWS Lambda only). One of them must match.",
    [{"body": {"kind": ["order"]}}],
)
_ON_FAILURE = "arn:aws:sqs:eu-central-1:123456789012:failed"
_DEAD_LETTER = Field(
    "deadLetter",
    FILLED,
    "ARN of the queue for events that could not be delivered (AWS Lambda only).",
    _ON_FAILURE,
)
_INPUT = Field(
    "input", Anything(), "Event that the function receives (AWS Lambda only).", {"job": "report"}
)
_ENABLED = Field("enabled", Flag(), "Whether events are delivered. Default: true.", example=False)
THROTTLE = Fields(
    (
        Field(
            "rate",
            Number(0, 1_000_000),
            "Requests per second.",
            100,
            required=True,
        ),
        Field("burst", Integer(0, 1_000_000), "Requests at the same time.", 200, required=True),
    )
)
_REQUEST = Fields(
    (
        Field(
            "schema",
            Anything(),
            "JSON schema of the body: a mapping, `${file:PATH}`, or one of them by media type.",
            {"type": "object", "required": ["id"]},
        ),
        Field(
            "parameters",
            Table(
                OneOf(("query", "header"), "a place of a parameter"),
                sample="page",
            ),
            "Required parameters by name: `query` or `header`.",
            {"page": "query"},
        ),
    )
)
# Keys that only some providers support. They are part of a trigger as one JSON value.
HTTP_OPTIONS = (
    Field(
        "scopes",
        Many(FILLED, least=1),
        "Scopes of which a token must have one (AWS Lambda only).",
        ["orders.write"],
    ),
    Field(
        "throttle",
        THROTTLE,
        "Limit of the requests of this route (AWS Lambda only).",
        {"rate": 10, "burst": 20},
    ),
    Field("apiKey", Flag(), "Whether a request needs an API key (REST API of AWS).", example=True),
    Field(
        "request",
        _REQUEST,
        "Validation of requests (REST API of AWS).",
        {"parameters": {"page": "query"}},
    ),
    Field(
        "timeout",
        Number(0.05, 900),
        "How long the API waits for the function, in seconds (REST API of AWS). Default: 29.",
        60,
    ),
    Field(
        "stream",
        Flag(),
        "Whether the API streams the response (REST API of AWS). Default: false.",
        example=True,
    ),
    Field(
        "integration",
        OneOf(("proxy", INTEGRATION), "an integration"),
        "How the API calls the function (REST API of AWS): with the whole request, or with an "
        "event of its parts, so that the result is the body. Default: proxy.",
        INTEGRATION,
    ),
)
_RETRY = Field(
    "retry",
    Fields(
        (
            Field("maximumRetryAttempts", Integer(0, 185), "Retries. Default: 185.", 3),
            Field(
                "maximumEventAge",
                Integer(60, 86_400),
                "Maximum age of an event, in seconds. Default: 86400.",
                3600,
            ),
        )
    ),
    "Retries of the delivery (AWS Lambda only).",
    {"maximumRetryAttempts": 3},
)
_MOMENT = Text(
    match_whole(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:Z|[+-]\d{2}:\d{2})"),
    "a time such as `2030-01-31T08:00:00Z`",
)
# Keys of schedules that only EventBridge Scheduler supports.
SCHEDULER_OPTIONS = (
    Field(
        "flexibleWindowMinutes",
        Integer(1, 1440),
        "Minutes after the scheduled time in which the function can start (AWS Lambda only).",
        15,
    ),
    Field("start", _MOMENT, "First possible start (AWS Lambda only).", "2030-01-01T00:00:00Z"),
    Field("end", _MOMENT, "Last possible start (AWS Lambda only).", "2030-12-31T00:00:00Z"),
    Field("group", FILLED, "Existing schedule group (AWS Lambda only).", "reports"),
)
CRON_OPTIONS = (
    _INPUT,
    _ENABLED,
    _RETRY,
    _DEAD_LETTER,
    Field(
        "method",
        OneOf(("rule", "scheduler"), "a method"),
        "EventBridge service that runs the schedule (AWS Lambda only). Default: a rule if "
        "possible.",
        "scheduler",
    ),
    *SCHEDULER_OPTIONS,
)
STORAGE_OPTIONS = (
    Field(
        "viaEventBus",
        Flag(),
        "Whether EventBridge delivers the events, in its own form (AWS Lambda only). Default: "
        "false.",
        example=True,
    ),
)
QUEUE_OPTIONS = (
    _FILTERS,
    Field(
        "maximumConcurrency",
        Integer(2, 1000),
        "Maximum number of concurrent invocations by this queue (AWS Lambda only).",
        10,
    ),
)
EVENTBUS_OPTIONS = (
    _INPUT,
    Field("inputPath", FILLED, "Part of the event to send (AWS Lambda only).", "$.detail"),
    Field(
        "inputTransformer",
        Fields(
            (
                Field("paths", Table(FILLED, sample="order"), "Values by name.", {"id": "$.id"}),
                Field(
                    "template",
                    FILLED,
                    "Text with `<name>` for values.",
                    '{"id": <id>}',
                    True,  # noqa: FBT003
                ),
            )
        ),
        "Event built from parts of the original (AWS Lambda only).",
        {"paths": {"id": "$.detail.id"}, "template": '{"id": <id>}'},
    ),
    _ENABLED,
    _RETRY,
    _DEAD_LETTER,
)
PUBSUB_OPTIONS = (
    Field(
        "filter",
        Table(Anything(), sample="kind"),
        "Filter policy of the subscription (AWS Lambda only).",
        {"kind": ["paid"]},
    ),
    Field(
        "filterScope",
        OneOf(("attributes", "body"), "a scope"),
        "Part of a message that the filter tests (AWS Lambda only). Default: attributes.",
        "body",
    ),
    _DEAD_LETTER,
)
_LOGIN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:broker"
BROKER_ACCESS = {
    "saslPlainAuth": "secret",
    "saslScram256Auth": "secret",
    "saslScram512Auth": "secret",
    "clientCertificateTlsAuth": "secret",
    "serverRootCaCertificate": "secret",
    "vpcSubnet": "subnet",
    "vpcSecurityGroup": "securityGroup",
}
_ACCESS = Fields(
    (
        Field(
            "type",
            OneOf(tuple(BROKER_ACCESS), "an access type"),
            "Type of the access.",
            "saslScram512Auth",
            required=True,
        ),
        Field("secret", FILLED, "ARN of the secret with the login or certificate.", _LOGIN),
        Field("subnet", FILLED, "ID of a subnet of the brokers.", "subnet-0a1b2c3d"),
        Field("securityGroup", FILLED, "ID of a security group.", "sg-0a1b2c3d"),
    )
)
_POLLERS = Fields(
    (
        Field("min", Integer(1, 200), "Minimum number of pollers. Default: 1.", 1),
        Field("max", Integer(1, 2000), "Maximum number of pollers. Default: 200.", 10),
    )
)
_MAXIMUM_WINDOW = Field(
    "maximumBatchingWindowSeconds",
    Integer(0, 300),
    "How long to wait for a full batch, in seconds (AWS Lambda only).",
    5,
)
AMQP_OPTIONS = (
    Field(
        "broker",
        Text(match_whole(r"arn:[a-z-]+:mq:\S+"), "the ARN of an Amazon MQ broker"),
        "ARN of the Amazon MQ broker (AWS Lambda only).",
        "arn:aws:mq:eu-central-1:123456789012:broker:jobs:b-1a2b",
    ),
    Field("secret", FILLED, "ARN of the secret with the broker login (AWS Lambda only).", _LOGIN),
    _FILTERS,
    _MAXIMUM_WINDOW,
    _ENABLED,
)
STREAM_OPTIONS = (
    _FILTERS,
    Field(
        "startingPositionTimestamp",
        # More is a time in milliseconds.
        Integer(0, 1 << 34, "a Unix time in whole seconds"),
        "Unix time in seconds to read from, with `startingPosition: AT_TIMESTAMP` (AWS Lambda "
        "only).",
        1_767_225_600,
    ),
    Field(
        "cluster",
        Text(match_whole(r"arn:[a-z-]+:kafka:\S+"), "the ARN of an MSK cluster"),
        "ARN of the MSK cluster, instead of `brokers` (AWS Lambda only).",
        "arn:aws:kafka:eu-central-1:123456789012:cluster/clicks/1a2b",
    ),
    Field(
        "access",
        Many(_ACCESS, 1),
        "Logins and network of the brokers (AWS Lambda only).",
        [{"type": "saslScram512Auth", "secret": _LOGIN}],
    ),
    Field(
        "pollers",
        _POLLERS,
        "Number of pollers that are reserved for the topic (AWS Lambda only).",
        {"min": 1, "max": 10},
    ),
    _MAXIMUM_WINDOW,
    Field(
        "parallelizationFactor",
        Integer(1, 10),
        "Concurrent batches per shard (AWS Lambda only). Default: 1.",
        2,
    ),
    Field(
        "bisectOnError",
        Flag(),
        "Whether a failed batch is split in two (AWS Lambda only). Default: false.",
        example=True,
    ),
    Field(
        "maximumRetryAttempts",
        Integer(-1, 10_000),
        "Retries of a failed batch (AWS Lambda only). Default: -1, until the records expire.",
        3,
    ),
    Field(
        "maximumRecordAge",
        Integer(-1, 604_800),
        "Maximum age of a record, in seconds (AWS Lambda only). Default: -1, no limit.",
        3600,
    ),
    Field(
        "tumblingWindowSeconds",
        Integer(0, 900),
        "Length of a tumbling window, in seconds (AWS Lambda only).",
        60,
    ),
    Field(
        "functionResponseType",
        OneOf(("ReportBatchItemFailures",), "a response type"),
        "Whether the function can report failed records (AWS Lambda only).",
        "ReportBatchItemFailures",
    ),
    Field(
        "onFailure",
        FILLED,
        "ARN of the queue or topic for failed batches (AWS Lambda only).",
        _ON_FAILURE,
    ),
    _ENABLED,
)


def _build_kind(
    kind: TriggerKind, fields: Iterable[Field], one_of: tuple[str, ...] = ()
) -> tuple[str, Fields]:
    choice = OneOf((kind.value,), "a trigger")
    tag = Field("type", choice, "Trigger type.", kind.value, required=True)
    return kind.value, Fields((tag, *fields), one_of=one_of)


def _build_batch_field(most: int) -> Field:
    return Field("batchSize", Integer(1, most), "Maximum number of messages per invocation.", 10)


_HTTP = _build_kind(
    TriggerKind.HTTP,
    [
        Field(
            "route",
            ROUTE,
            "Method and path in one value. `$default` receives all requests that no other route "
            "matches (HTTP API of AWS).",
            "GET:/hello",
        ),
        Field("method", OneOf(METHODS, "an HTTP method"), "HTTP method. Default: GET.", "POST"),
        Field("path", _PATH, "Path. `{name}` matches one segment.", "/users/{id}"),
        Field(
            "cors",
            CORS,
            "CORS: `true` for all origins, one origin, or provider-specific settings.",
            True,  # noqa: FBT003
        ),
        Field(
            "authorizer",
            Either((FILLED, Fields((), is_open=True))),
            "Name of the authorizer, or provider-specific settings.",
            "jwt",
        ),
        *HTTP_OPTIONS,
    ],
    one_of=("route", "path"),
)
_CRON = _build_kind(
    TriggerKind.CRON,
    [
        Field(
            "schedule",
            FILLED,
            "`rate(<n> minutes|hours|days)`, five cron fields, `cron(<six fields>)`, or "
            "`at(<time>)` (AWS Lambda only).",
            "rate(5 minutes)",
            required=True,
        ),
        Field("timezone", FILLED, "IANA time zone of the schedule. Default: UTC.", "Europe/Berlin"),
        *CRON_OPTIONS,
    ],
)
_QUEUE = _build_kind(
    TriggerKind.QUEUE,
    [
        Field("queue", FILLED, "Name of the queue to read from.", "orders", required=True),
        _build_batch_field(10_000),
        Field(
            "maximumBatchingWindowSeconds",
            Integer(0, 300),
            "How long to wait for a full batch, in seconds. AWS requires 1 or more for batches "
            "above 10.",
            5,
        ),
        Field(
            "functionResponseType",
            OneOf(("ReportBatchItemFailures",), "a response type"),
            "Whether the function can report failed messages, so that only those are retried.",
            "ReportBatchItemFailures",
        ),
        Field("enabled", Flag(), "Whether messages are delivered. Default: true.", example=False),
        *QUEUE_OPTIONS,
    ],
)
_STORAGE = _build_kind(
    TriggerKind.STORAGE,
    [
        Field("bucket", FILLED, "Name of the bucket to watch.", "uploads", required=True),
        Field(
            "events",
            Many(FILLED, least=1),
            "Object events to subscribe to, such as `objstore1:ObjectCreated:*`.",
            ["objstore1:ObjectCreated:*"],
            required=True,
        ),
        Field("prefix", Text(), "Only keys with this prefix.", "images/"),
        Field("suffix", Text(), "Only keys with this suffix.", ".png"),
        Field(
            "existingBucket",
            Flag(),
            "Whether the bucket already exists.",
            True,  # noqa: FBT003
        ),
        *STORAGE_OPTIONS,
    ],
)
# Values, or matchers such as `{prefix: shop.}`.
_MATCHERS = Many(Anything())
_EVENTBUS = _build_kind(
    TriggerKind.EVENTBUS,
    [
        Field(
            "pattern",
            Fields(
                (
                    Field("source", _MATCHERS, "Sources of the events.", ["shop.orders"]),
                    Field("detail-type", _MATCHERS, "Types of the events.", ["OrderPlaced"]),
                    Field(
                        "detail",
                        Anything(),
                        "Pattern that the detail of the event must match.",
                        {"total": [{"numeric": [">", 100]}]},
                    ),
                    Field("account", _MATCHERS, "Accounts of the events.", ["123456789012"]),
                    Field("region", _MATCHERS, "Regions of the events.", ["eu-central-1"]),
                    Field(
                        "resources",
                        _MATCHERS,
                        "ARNs of the resources of the events.",
                        [{"suffix": ":table/orders"}],
                    ),
                    Field("id", _MATCHERS, "IDs of the events.", [{"exists": True}]),
                    Field("time", _MATCHERS, "Times of the events.", [{"prefix": "2026-"}]),
                    Field("version", _MATCHERS, "Versions of the event format.", ["0"]),
                    Field(
                        "$or",
                        Many(Anything()),
                        "Patterns of which one must match.",
                        [{"source": ["shop.orders"]}, {"detail-type": ["OrderPlaced"]}],
                    ),
                ),
                is_open=True,
            ),
            "Pattern of the events to receive.",
            {"source": ["shop.orders"]},
        ),
        Field("bus", FILLED, "Event bus. Default: `default`.", "orders"),
        *EVENTBUS_OPTIONS,
    ],
)
_PUBSUB = _build_kind(
    TriggerKind.PUBSUB,
    [
        Field("topic", FILLED, "Topic to subscribe to.", "orders"),
        Field(
            "subscription",
            FILLED,
            "Name of the subscription. Default: created by fabric.",
            "orders-worker",
        ),
        *PUBSUB_OPTIONS,
    ],
)
_LOGSTREAM = _build_kind(
    TriggerKind.LOGSTREAM,
    [
        Field("topic", FILLED, "Topic to read.", "clicks"),
        Field("brokers", _TEXTS, "Addresses of the brokers.", ["broker-1:9092"]),
        Field("groupId", FILLED, "Consumer group.", "clicks-worker"),
        _build_batch_field(10_000),
        Field("startingPosition", FILLED, "Where a new consumer group starts to read.", "LATEST"),
        Field(
            "stream",
            FILLED,
            "ARN of the Kinesis or DynamoDB stream to read, instead of `topic` and `brokers` (AWS "
            "Lambda only).",
            "arn:aws:kinesis:eu-central-1:123456789012:stream/clicks",
        ),
        *STREAM_OPTIONS,
    ],
)
_AMQP = _build_kind(
    TriggerKind.AMQP,
    [
        Field("queue", FILLED, "Queue to read from.", "jobs"),
        Field("url", FILLED, "URL of the broker.", "amqps://broker.example"),
        Field("exchange", FILLED, "Exchange that the queue is bound to.", "jobs"),
        Field("routingKey", FILLED, "Routing key of the binding.", "jobs.new"),
        Field("virtualHost", FILLED, "Virtual host of the broker.", "/"),
        _build_batch_field(10_000),
        *AMQP_OPTIONS,
    ],
)
TRIGGER = Kinds(
    (_HTTP, _CRON, _QUEUE, _STORAGE, _EVENTBUS, _PUBSUB, _LOGSTREAM, _AMQP),
    "a trigger",
    "config/unknown-trigger",
)
