"""Which keys each kind of trigger has."""

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
    OneOf,
    Text,
    match_whole,
)
from fabric.model.names import TriggerKind

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "ANY")
FILLED = Text(r"\S", "text that is not empty")
_METHOD = "(?:" + "|".join(METHODS) + ")"
ROUTE = Text(match_whole(_METHOD + r":/\S*"), "`<METHOD>:/<path>`, such as `GET:/hello`")
_PATH = Text(match_whole(r"/\S*"), "a path that starts with `/` and contains no spaces")
_TEXTS = Many(FILLED)
CORS = Either((Flag(), FILLED, Fields((), is_open=True)))


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
        Field("route", ROUTE, "Method and path in one value.", "GET:/hello"),
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
    ],
    one_of=("route", "path"),
)
_CRON = _build_kind(
    TriggerKind.CRON,
    [
        Field(
            "schedule",
            FILLED,
            "`rate(<n> minutes|hours|days)`, five cron fields, or `cron(<six fields>)`.",
            "rate(5 minutes)",
            required=True,
        ),
        Field("timezone", FILLED, "IANA time zone of the schedule. Default: UTC.", "Europe/Berlin"),
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
    ],
)
_EVENTBUS = _build_kind(
    TriggerKind.EVENTBUS,
    [
        Field(
            "pattern",
            Fields(
                (
                    Field("source", _TEXTS, "Sources of the events.", ["shop.orders"]),
                    Field("detail-type", _TEXTS, "Types of the events.", ["OrderPlaced"]),
                    Field(
                        "detail",
                        Anything(),
                        "Pattern that the detail of the event must match.",
                        {"total": [{"numeric": [">", 100]}]},
                    ),
                ),
                is_open=True,
            ),
            "Pattern of the events to receive.",
            {"source": ["shop.orders"]},
        ),
        Field("bus", FILLED, "Event bus. Default: `default`.", "orders"),
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
    ],
)
TRIGGER = Kinds(
    (_HTTP, _CRON, _QUEUE, _STORAGE, _EVENTBUS, _PUBSUB, _LOGSTREAM, _AMQP),
    "a trigger",
    "config/unknown-trigger",
)
