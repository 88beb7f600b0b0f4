// An object with `fetch`, `scheduled` and `queue`, each called for the events that are its own.
import { isHttp, requestOf } from "./http_events.mjs";
import { afterwards, webAnswer, webRequest } from "./web.mjs";

const METHODS = ["fetch", "scheduled", "queue"];

export function isWorker(found) {
  return typeof found === "object" && found !== null && METHODS.some((name) => typeof found[name] === "function");
}

export async function byWorker(found, event, said) {
  const env = Object.fromEntries((said.variables ?? []).map((name) => [name, process.env[name]]));
  const later = afterwards();
  const ctx = { waitUntil: later.waitUntil, passThroughOnException() {}, props: {} };
  const name = methodFor(found, event, said.kinds ?? []);
  if (typeof found[name] !== "function") throw new TypeError(`the worker has no ${name} for this event`);
  const answer = await CALLS[name](found, event, { env, ctx, said });
  await later.done();
  return answer;
}

function methodFor(found, event, kinds) {
  if (isHttp(event)) return "fetch";
  if (Array.isArray(event?.Records) && found.queue) return "queue";
  const isTimed = event?.["detail-type"] === "Scheduled Event" || typeof event?.cron === "string";
  const isOnlyTimed = kinds.length ? !kinds.includes("http") : !found.fetch;
  return found.scheduled && (isTimed || isOnlyTimed) ? "scheduled" : "fetch";
}

const CALLS = {
  async fetch(found, event, { env, ctx, said }) {
    return webAnswer(await found.fetch(webRequest(requestOf(event, said)), env, ctx), "fetch");
  },
  async scheduled(found, event, { env, ctx, said }) {
    const scheduledTime = event?.scheduledTime ?? (event?.time ? Date.parse(event.time) : Date.now());
    const cron = event?.cron ?? said.schedule ?? "";
    await found.scheduled({ type: "scheduled", cron, scheduledTime, noRetry() {} }, env, ctx);
    return null;
  },
  async queue(found, event, { env, ctx }) {
    const again = new Set();
    const messages = event.Records.map((record) => message(record, again));
    const retryAll = () => messages.forEach(({ id }) => again.add(id));
    const queue = (event.Records[0]?.eventSourceARN ?? "").split(":").pop();
    await found.queue({ queue, messages, ackAll() {}, retryAll }, env, ctx);
    return { batchItemFailures: [...again].map((itemIdentifier) => ({ itemIdentifier })) };
  },
};

function message(record, again) {
  const id = record.messageId;
  const sent = Number(record.attributes?.SentTimestamp ?? Date.now());
  const attempts = Number(record.attributes?.ApproximateReceiveCount ?? 1);
  return { id, timestamp: new Date(sent), body: meant(record.body), attempts, ack: () => again.delete(id), retry: () => again.add(id) };
}

function meant(body) {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
