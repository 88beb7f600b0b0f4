"""Handlers in JavaScript."""

from collections.abc import Mapping

from fabric.model.names import TriggerKind

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
