"""Handlers of new functions, by language and trigger.

Without types, the TypeScript ones equal the JavaScript ones of `templates`.
"""

from collections.abc import Mapping

from fabric.model.names import TriggerKind
from fabric.scaffold.languages import Language

PYTHON_HANDLERS: Mapping[TriggerKind, str] = {
    TriggerKind.HTTP: """\
import json


def handler(event, context):
    query = event.get("queryStringParameters") or {}
    message = f"Hello, {query.get('name', 'world')}!"
    return {
        "statusCode": 200,
        "headers": {"content-type": "application/json"},
        "body": json.dumps({"message": message}),
    }
""",
    TriggerKind.QUEUE: '''\
import json
import traceback


def handler(event, context):
    """Messages listed in the response are retried. All others are deleted from the queue."""
    failed = [record["messageId"] for record in event["Records"] if not _is_done(record)]
    return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}


def _is_done(record):
    try:
        _handle(json.loads(record["body"]))
    except Exception:
        traceback.print_exc()
        return False
    return True


def _handle(message):
    print("message:", message)
''',
    TriggerKind.CRON: """\
def handler(event, context):
    print("due at", event["time"])
    return {"dueAt": event["time"]}
""",
    TriggerKind.STORAGE: """\
from urllib.parse import unquote_plus


def handler(event, context):
    objects = [_name_of(record["objstore1"]) for record in event["Records"]]
    print("objects:", objects)
    return {"objects": objects}


def _name_of(stored):
    # Keys are URL-encoded.
    return f"{stored['bucket']['name']}/{unquote_plus(stored['object']['key'])}"
""",
    TriggerKind.EVENTBUS: """\
def handler(event, context):
    print(event["source"], event["detail-type"], event["detail"])
    return {"received": event["detail-type"]}
""",
    TriggerKind.PUBSUB: """\
import base64
import json


def handler(event, context):
    message = json.loads(base64.b64decode(event["message"]["data"]))
    print("message:", message)
    return {"received": message}
""",
    TriggerKind.LOGSTREAM: """\
import base64
import json


def handler(event, context):
    values = [
        json.loads(base64.b64decode(record["value"]))
        for records in event["records"].values()
        for record in records
    ]
    print("records:", values)
    return {"received": len(values)}
""",
    TriggerKind.AMQP: """\
import base64
import json


def handler(event, context):
    messages = [
        json.loads(base64.b64decode(message["data"]))
        for messages in event["amqpMessagesByQueue"].values()
        for message in messages
    ]
    print("messages:", messages)
    return {"received": len(messages)}
""",
}
TYPESCRIPT_HANDLERS: Mapping[TriggerKind, str] = {
    TriggerKind.HTTP: """\
interface HttpEvent {
  queryStringParameters?: Record<string, string>;
}

export async function handler(event: HttpEvent) {
  const name = event.queryStringParameters?.name ?? "world";
  return {
    statusCode: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message: `Hello, ${name}!` }),
  };
}
""",
    TriggerKind.QUEUE: """\
interface QueueEvent {
  Records: { messageId: string; body: string }[];
}

/** Messages listed in the response are retried. All others are deleted from the queue. */
export async function handler(event: QueueEvent) {
  const batchItemFailures: { itemIdentifier: string }[] = [];
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

async function handle(message: unknown) {
  console.log("message:", message);
}
""",
    TriggerKind.CRON: """\
interface TimerEvent {
  time: string;
}

export async function handler(event: TimerEvent) {
  console.log("due at", event.time);
  return { dueAt: event.time };
}
""",
    TriggerKind.STORAGE: """\
interface StorageEvent {
  Records: {
    eventName: string;
    objstore1: { bucket: { name: string }; object: { key: string; size?: number } };
  }[];
}

export async function handler(event: StorageEvent) {
  const objects = event.Records.map(({ objstore1: { bucket, object } }) => {
    // Keys are URL-encoded.
    const key = decodeURIComponent(object.key.replaceAll("+", " "));
    return `${bucket.name}/${key}`;
  });
  console.log("objects:", objects);
  return { objects };
}
""",
    TriggerKind.EVENTBUS: """\
interface BusEvent {
  source: string;
  "detail-type": string;
  detail: unknown;
}

export async function handler(event: BusEvent) {
  console.log(event.source, event["detail-type"], event.detail);
  return { received: event["detail-type"] };
}
""",
    TriggerKind.PUBSUB: """\
interface PubsubEvent {
  message: { data: string; messageId: string; attributes?: Record<string, string> };
  subscription: string;
}

export async function handler(event: PubsubEvent) {
  const message = JSON.parse(Buffer.from(event.message.data, "base64").toString());
  console.log(`message ${event.message.messageId}:`, message);
  return { received: message };
}
""",
    TriggerKind.LOGSTREAM: """\
interface LogstreamEvent {
  records: Record<string, { offset: number; value: string }[]>;
}

export async function handler(event: LogstreamEvent) {
  const values = Object.values(event.records)
    .flat()
    .map(({ value }) => JSON.parse(Buffer.from(value, "base64").toString()));
  console.log("records:", values);
  return { received: values.length };
}
""",
    TriggerKind.AMQP: """\
interface AmqpEvent {
  amqpMessagesByQueue: Record<string, { data: string; redelivered: boolean }[]>;
}

export async function handler(event: AmqpEvent) {
  const messages = Object.values(event.amqpMessagesByQueue)
    .flat()
    .map(({ data }) => JSON.parse(Buffer.from(data, "base64").toString()));
  console.log("messages:", messages);
  return { received: messages.length };
}
""",
}
# Messages of SNS, whose events are not those of other topics.
SNS_HANDLERS: Mapping[Language, str] = {
    Language.PYTHON: """\
import json


def handler(event, context):
    messages = [json.loads(record["Sns"]["Message"]) for record in event["Records"]]
    print("messages:", messages)
    return {"received": messages[0]}
""",
    Language.TYPESCRIPT: """\
interface TopicEvent {
  Records: { Sns: { MessageId: string; Message: string } }[];
}

export async function handler(event: TopicEvent) {
  const messages = event.Records.map(({ Sns }) => JSON.parse(Sns.Message));
  console.log("messages:", messages);
  return { received: messages[0] };
}
""",
    Language.JAVASCRIPT: """\
export async function handler(event) {
  const messages = event.Records.map(({ Sns }) => JSON.parse(Sns.Message));
  console.log("messages:", messages);
  return { received: messages[0] };
}
""",
}
