"""Which keys each kind of trigger has."""

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
    whole,
)
from fabric.model.names import TriggerKind

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "ANY")
FILLED = Text(r"\S", "text that is not empty")
_METHOD = "(?:" + "|".join(METHODS) + ")"
ROUTE = Text(whole(_METHOD + r":/\S*"), "`<METHOD>:/<path>`, such as `GET:/hello`")
_PATH = Text(whole(r"/\S*"), "a path that begins with `/` and has no gaps")
_TEXTS = Many(FILLED)


def _kind(kind: TriggerKind, *fields: Field, one_of: tuple[str, ...] = ()) -> tuple[str, Fields]:
    choice = OneOf((kind.value,), "a trigger")
    tag = Field("type", choice, "The kind of trigger.", kind.value, required=True)
    return kind.value, Fields((tag, *fields), one_of=one_of)


def _batch(most: int) -> Field:
    return Field("batchSize", Integer(1, most), "How many messages one call gets at most.", 10)


_HTTP = _kind(
    TriggerKind.HTTP,
    Field("route", ROUTE, "Method and path in one.", "GET:/hello"),
    Field("method", OneOf(METHODS, "an HTTP method"), "The method; GET when left out.", "POST"),
    Field("path", _PATH, "The path; `{name}` stands for one segment.", "/users/{id}"),
    Field(
        "cors",
        Either((Flag(), FILLED, Fields((), is_open=True))),
        "Answer cross-origin requests: true, an origin, or the provider's own settings.",
        True,  # noqa: FBT003
    ),
    Field(
        "authorizer",
        Either((FILLED, Fields((), is_open=True))),
        "Who may call: the name of an authorizer, or the provider's own settings.",
        "jwt",
    ),
    one_of=("route", "path"),
)
_CRON = _kind(
    TriggerKind.CRON,
    Field(
        "schedule",
        FILLED,
        "`rate(<n> minutes|hours|days)`, five cron fields, or `cron(<six fields>)`.",
        "rate(5 minutes)",
        required=True,
    ),
    Field("timezone", FILLED, "IANA name of the zone that the schedule means.", "Europe/Berlin"),
)
_QUEUE = _kind(
    TriggerKind.QUEUE,
    Field("queue", FILLED, "The queue to read from.", "orders", required=True),
    _batch(10_000),
    Field(
        "maximumBatchingWindowSeconds",
        Integer(0, 300),
        "How long to wait for a batch to fill; cloud1 needs 1 or more for batches over 10.",
        5,
    ),
    Field(
        "functionResponseType",
        OneOf(("ReportBatchItemFailures",), "a response type"),
        "Lets the function name the messages that failed, so only those come again.",
        "ReportBatchItemFailures",
    ),
    Field("enabled", Flag(), "Whether messages are delivered; true when left out.", False),  # noqa: FBT003
)
_STORAGE = _kind(
    TriggerKind.STORAGE,
    Field("bucket", FILLED, "The bucket to watch.", "uploads", required=True),
    Field(
        "events",
        Many(FILLED, least=1),
        "What to be told of.",
        ["objstore1:ObjectCreated:*"],
        required=True,
    ),
    Field("prefix", Text(), "Only keys that begin so.", "images/"),
    Field("suffix", Text(), "Only keys that end so.", ".png"),
    Field("existingBucket", Flag(), "The bucket is there already: do not make it.", True),  # noqa: FBT003
)
_EVENTBUS = _kind(
    TriggerKind.EVENTBUS,
    Field(
        "pattern",
        Fields(
            (
                Field("source", _TEXTS, "Who sent the event.", ["shop.orders"]),
                Field("detail-type", _TEXTS, "What kind of event it is.", ["OrderPlaced"]),
                Field(
                    "detail",
                    Anything(),
                    "What its body must match.",
                    {"total": [{"numeric": [">", 100]}]},
                ),
            ),
            is_open=True,
        ),
        "Which events to be told of.",
        {"source": ["shop.orders"]},
    ),
    Field("bus", FILLED, "The bus to listen on; `default` when left out.", "default"),
)
_PUBSUB = _kind(
    TriggerKind.PUBSUB,
    Field("topic", FILLED, "The topic to subscribe to.", "orders"),
    Field("subscription", FILLED, "The subscription to use; made when left out.", "orders-worker"),
)
_LOGSTREAM = _kind(
    TriggerKind.LOGSTREAM,
    Field("topic", FILLED, "The topic to read.", "clicks"),
    Field("brokers", _TEXTS, "Addresses of the brokers.", ["broker-1:9092"]),
    Field("groupId", FILLED, "The consumer group.", "clicks-worker"),
    _batch(10_000),
    Field("startingPosition", FILLED, "Where a new group starts to read.", "LATEST"),
)
_AMQP = _kind(
    TriggerKind.AMQP,
    Field("queue", FILLED, "The queue to read from.", "jobs"),
    Field("url", FILLED, "Address of the broker.", "amqps://broker.example"),
    Field("exchange", FILLED, "The exchange that the queue is bound to.", "jobs"),
    Field("routingKey", FILLED, "The key of that binding.", "jobs.new"),
    Field("virtualHost", FILLED, "The virtual host of the broker.", "/"),
    _batch(10_000),
)
TRIGGER = Kinds(
    (_HTTP, _CRON, _QUEUE, _STORAGE, _EVENTBUS, _PUBSUB, _LOGSTREAM, _AMQP),
    "a trigger",
    "config/unknown-trigger",
)
