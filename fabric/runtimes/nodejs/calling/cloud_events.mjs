// One CloudEvent, of the type that its source would have sent.
import { randomUUID } from "node:crypto";

export function byCloudEvent(found, event) {
  return found(cloudEventOf(event));
}

export function cloudEventOf(event) {
  if (typeof event?.specversion === "string") return event;
  const base = { specversion: "1.0", id: randomUUID(), time: new Date().toISOString(), datacontenttype: "application/json" };
  if (event?.message && typeof event.message === "object") return { ...base, ...published(event) };
  if (Array.isArray(event?.Records)) return { ...base, ...stored(event.Records) };
  const isTimed = event?.["detail-type"] === "Scheduled Event";
  const type = isTimed ? "google.cloud.scheduler.job.v1.executed" : "fabric.invoked";
  return { ...base, type, source: "//fabric/invoke", ...(event?.time ? { time: event.time } : {}), data: event };
}

function published({ message, subscription = "" }) {
  return {
    id: message.messageId ?? randomUUID(),
    type: "google.cloud.pubsub.topic.v1.messagePublished",
    source: `//pubsub.googleapis.com/${subscription.replace("/subscriptions/", "/topics/")}`,
    time: message.publishTime ?? new Date().toISOString(),
    data: { message, subscription },
  };
}

function stored(records) {
  if (records.length !== 1) throw new TypeError(`exactly one record is required: the payload has ${records.length}`);
  const [record] = records;
  const kept = record.objstore1 ?? record.s3;
  if (!kept) return { type: "fabric.invoked", source: "//fabric/invoke", data: record };
  const ending = /Removed|Delete/.test(record.eventName ?? "") ? "deleted" : "finalized";
  const { key, size, eTag } = kept.object;
  return {
    type: `google.cloud.storage.object.v1.${ending}`,
    source: `//storage.googleapis.com/projects/_/buckets/${kept.bucket.name}`,
    subject: `objects/${key}`,
    time: record.eventTime ?? new Date().toISOString(),
    data: { bucket: kept.bucket.name, name: key, size: String(size ?? ""), etag: eTag ?? "" },
  };
}
