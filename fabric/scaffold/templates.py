"""Templates of new functions by kind: name, trigger fields and handler."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.model.calls.sample_events import SNS_PROVIDER
from fabric.model.names import TriggerKind
from fabric.scaffold.go_handlers import GO_HANDLERS
from fabric.scaffold.handlers import PYTHON_HANDLERS, SNS_HANDLERS, TYPESCRIPT_HANDLERS
from fabric.scaffold.languages import Language
from fabric.scaffold.rust_handlers import RUST_HANDLERS

_HTTP = """\
export async function handler(event) {
  const name = event.queryStringParameters?.name ?? "world";
  return {
    statusCode: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message: `Hello, ${name}!` }),
  };
}
"""
_QUEUE = """\
/** Messages listed in the response are retried. All others are deleted from the queue. */
export async function handler(event) {
  const batchItemFailures = [];
  for (const { messageId, body } of event.Records) {
    try {
      await handle(JSON.parse(body));
    } catch (error) {
      console.error(`message ${messageId}:`, error);
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  }
  return { batchItemFailures };
}

async function handle(message) {
  console.log("message:", message);
}
"""
_CRON = """\
export async function handler(event) {
  console.log("due at", event.time);
  return { dueAt: event.time };
}
"""
_STORAGE = """\
export async function handler(event) {
  const objects = event.Records.map(({ objstore1: { bucket, object } }) => {
    // Keys are URL-encoded.
    const key = decodeURIComponent(object.key.replaceAll("+", " "));
    return `${bucket.name}/${key}`;
  });
  console.log("objects:", objects);
  return { objects };
}
"""
_EVENTBUS = """\
export async function handler(event) {
  console.log(event.source, event["detail-type"], event.detail);
  return { received: event["detail-type"] };
}
"""
_PUBSUB = """\
export async function handler(event) {
  const message = JSON.parse(Buffer.from(event.message.data, "base64").toString());
  console.log(`message ${event.message.messageId}:`, message);
  return { received: message };
}
"""
_LOGSTREAM = """\
export async function handler(event) {
  const values = Object.values(event.records)
    .flat()
    .map(({ value }) => JSON.parse(Buffer.from(value, "base64").toString()));
  console.log("records:", values);
  return { received: values.length };
}
"""
_AMQP = """\
export async function handler(event) {
  const messages = Object.values(event.amqpMessagesByQueue)
    .flat()
    .map(({ data }) => JSON.parse(Buffer.from(data, "base64").toString()));
  console.log("messages:", messages);
  return { received: messages.length };
}
"""
JAVASCRIPT_HANDLERS: Mapping[TriggerKind, str] = {
    TriggerKind.HTTP: _HTTP,
    TriggerKind.QUEUE: _QUEUE,
    TriggerKind.CRON: _CRON,
    TriggerKind.STORAGE: _STORAGE,
    TriggerKind.EVENTBUS: _EVENTBUS,
    TriggerKind.PUBSUB: _PUBSUB,
    TriggerKind.LOGSTREAM: _LOGSTREAM,
    TriggerKind.AMQP: _AMQP,
}


class FunctionTemplate(Struct, frozen=True):
    """`fields` are the trigger's config fields. `answer` is the constant part of the response to
    its sample event."""

    kind: TriggerKind
    function: str
    title: str
    fields: Mapping[str, object]
    answer: Mapping[str, object]


TEMPLATES: Sequence[FunctionTemplate] = (
    FunctionTemplate(
        TriggerKind.HTTP,
        "hello",
        "handles HTTP requests",
        {"route": "GET:/hello"},
        {"statusCode": 200},
    ),
    FunctionTemplate(
        TriggerKind.QUEUE,
        "worker",
        "processes queue messages",
        {"queue": "my-queue", "functionResponseType": "ReportBatchItemFailures"},
        {"batchItemFailures": []},
    ),
    FunctionTemplate(
        TriggerKind.CRON,
        "job",
        "runs on a schedule",
        {"schedule": "rate(5 minutes)"},
        {"dueAt": "2026-01-01T00:00:00Z"},
    ),
    FunctionTemplate(
        TriggerKind.STORAGE,
        "upload",
        "processes new objects in a bucket",
        {"bucket": "my-bucket", "events": ["objstore1:ObjectCreated:*"]},
        {"objects": ["my-bucket/sample.txt"]},
    ),
    FunctionTemplate(
        TriggerKind.EVENTBUS,
        "listener",
        "processes events that match a pattern",
        {"pattern": {"source": ["my.app"]}},
        {"received": "Sample"},
    ),
    FunctionTemplate(
        TriggerKind.PUBSUB,
        "subscriber",
        "processes messages of a topic",
        {"topic": "my-topic"},
        {"received": {"hello": "world"}},
    ),
)
_BY_KIND = {one.kind: one for one in TEMPLATES}
_SOURCES: Mapping[Language, Mapping[TriggerKind, str]] = {
    Language.TYPESCRIPT: TYPESCRIPT_HANDLERS,
    Language.JAVASCRIPT: JAVASCRIPT_HANDLERS,
    Language.PYTHON: PYTHON_HANDLERS,
    Language.GO: GO_HANDLERS,
    Language.RUST: RUST_HANDLERS,
}


def find_template(kind: str) -> FunctionTemplate:
    return _BY_KIND[TriggerKind(kind)]


def has_handler(kind: str, lang: str) -> bool:
    return TriggerKind(kind) in _SOURCES[Language(lang)]


def read_handler_source(kind: str, lang: str, provider_id: str = "") -> str:
    """Return a module with one `handler(event, context)`, for every provider if the events are
    equal; in JavaScript and TypeScript an ES module, in Go and Rust a program."""
    if provider_id == SNS_PROVIDER and kind == TriggerKind.PUBSUB:
        return SNS_HANDLERS.get(Language(lang)) or _SOURCES[Language(lang)][TriggerKind.PUBSUB]
    return _SOURCES[Language(lang)][TriggerKind(kind)]
