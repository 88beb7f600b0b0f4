"""TypeScript handlers. Without types they equal the JavaScript ones."""

from collections.abc import Mapping

from fabric.model.names import TriggerKind

_HTTP = """\
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
"""
_QUEUE = """\
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
"""
_CRON = """\
interface TimerEvent {
  time: string;
}

export async function handler(event: TimerEvent) {
  console.log("due at", event.time);
  return { dueAt: event.time };
}
"""
_STORAGE = """\
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
"""
_EVENTBUS = """\
interface BusEvent {
  source: string;
  "detail-type": string;
  detail: unknown;
}

export async function handler(event: BusEvent) {
  console.log(event.source, event["detail-type"], event.detail);
  return { received: event["detail-type"] };
}
"""
_PUBSUB = """\
interface PubsubEvent {
  message: { data: string; messageId: string; attributes?: Record<string, string> };
  subscription: string;
}

export async function handler(event: PubsubEvent) {
  const message = JSON.parse(Buffer.from(event.message.data, "base64").toString());
  console.log(`message ${event.message.messageId}:`, message);
  return { received: message };
}
"""
_LOGSTREAM = """\
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
"""
_AMQP = """\
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
"""
TYPESCRIPT_HANDLERS: Mapping[TriggerKind, str] = {
    TriggerKind.HTTP: _HTTP,
    TriggerKind.QUEUE: _QUEUE,
    TriggerKind.CRON: _CRON,
    TriggerKind.STORAGE: _STORAGE,
    TriggerKind.EVENTBUS: _EVENTBUS,
    TriggerKind.PUBSUB: _PUBSUB,
    TriggerKind.LOGSTREAM: _LOGSTREAM,
    TriggerKind.AMQP: _AMQP,
}
