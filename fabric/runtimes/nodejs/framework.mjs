// Serves one function of Google Cloud, below its functions framework or in a container: requests
// become our events. A clock says so; without routes nobody comes but a clock and who has a right of its own. What they send is
// the event itself.
import { randomUUID, timingSafeEqual } from "node:crypto";
import { fileURLToPath } from "node:url";

import { call, prepare } from "./calling/call.mjs";
import { failed, message, sent, timed, unrouted } from "./serving_answers.mjs";
import { eventOf, split } from "./serving_http.mjs";
import { preflight, shared } from "./serving_open.mjs";
import { routed, routesOf } from "./serving_routes.mjs";

const READY = "/.fabric/ready";

export async function framed(root, said) {
  const clock = takeClock();
  const folder = fileURLToPath(new URL("function", root));
  // A path that is relative begins where the archive does.
  process.chdir(folder);
  const handler = await prepare({ ...said, folder });
  const answer = answering(handler, routesOf(said.routes), clock);
  return (req, res) => answer(taken(req), bodyOf(req)).catch(failed).then((given) => sent(req, res, given));
}

// The secret of schedules. A handler does not see it.
export function takeClock() {
  const clock = process.env.FABRIC_CLOCK;
  for (const name of ["FABRIC_MARK", "FABRIC_CLOCK"]) delete process.env[name];
  return clock;
}

export function answering(handler, routes, clock) {
  const isOfClock = (req) => Boolean(clock) && same(clock, req.headers["x-fabric-clock"] ?? "");
  return async (req, body) => (isOfClock(req) || !routes.length ? eventAnswer(handler, req, body) : routedAnswer(handler, routes, req, body));
}

async function routedAnswer(handler, routes, req, body) {
  const [path] = split(req.url);
  if (path === READY) return message(200, "ready");
  const route = routed(routes, req.method, path);
  if (!route.key) return preflight(route, req) ?? unrouted(route);
  const answer = await timed(call(handler, eventOf(req, body, route)), handler.said.seconds).catch(failed);
  return shared(answer, route.row, req.headers.origin);
}

async function eventAnswer(handler, req, body) {
  let event;
  try {
    event = JSON.parse(body.toString() || "{}");
  } catch {
    return message(400, "Bad Request");
  }
  if (isFiltered(handler.said.buckets ?? [], event, req.headers)) return message(200, "no trigger has this key");
  return timed(call(handler, given(event, req.headers, handler.convention)), handler.said.seconds);
}

// An event in the form that handlers receive everywhere.
function given(event, headers, convention) {
  if (event?.["detail-type"] === "Scheduled Event") return { ...event, id: randomUUID(), time: timeOf(headers["x-cloudscheduler-scheduletime"]) };
  const type = headers["ce-type"] ?? "";
  if (type && convention === "cloud-event") return { ...attributes(headers), datacontenttype: "application/json", data: event };
  if (type.startsWith("google.cloud.storage.object.v1.")) return stored(event, type.endsWith(".deleted"));
  if (!type.startsWith("google.cloud.pubsub.topic.v1.")) return event;
  return { ...event, message: { attributes: {}, ...event.message } };
}

// Eventarc does not filter objects by their names.
function isFiltered(buckets, event, headers) {
  if (!buckets.length || !(headers["ce-type"] ?? "").startsWith("google.cloud.storage.object.v1.")) return false;
  return !buckets.some(({ bucket, prefix, suffix }) => bucket === event.bucket && event.name.startsWith(prefix) && event.name.endsWith(suffix));
}

// Those of a CloudEvent, which are headers of its request.
function attributes(headers) {
  const own = Object.entries(headers).filter(([name]) => name.startsWith("ce-"));
  return Object.fromEntries(own.map(([name, text]) => [name.slice(3), text]));
}

function stored({ bucket, name, size, etag, md5Hash, timeCreated, updated }, isRemoved) {
  const eTag = md5Hash ? Buffer.from(md5Hash, "base64").toString("hex") : etag;
  const object = { key: encodeURIComponent(name).replace(/%2F/g, "/").replace(/%20/g, "+"), size: Number(size ?? 0), eTag };
  const eventName = isRemoved ? "ObjectRemoved:Delete" : "ObjectCreated:Put";
  const row = { eventVersion: "2.1", eventSource: "aws:s3", eventTime: updated ?? timeCreated, eventName, objstore1: { bucket: { name: bucket, arn: `arn:aws:s3:::${bucket}` }, object } };
  return { Records: [row] };
}

function same(one, other) {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

// When it was due, or now.
function timeOf(said) {
  const due = new Date(said ?? Date.now());
  return (Number.isNaN(due.getTime()) ? new Date() : due).toISOString().replace(/\.\d+/, "");
}

// The framework has read the body, and unpacked it.
function bodyOf(req) {
  return req.rawBody ?? Buffer.alloc(0);
}

function taken({ method, originalUrl, headers, rawHeaders, httpVersion, socket }) {
  const { "content-encoding": packed, ...rest } = headers;
  const kept = packed === undefined ? rawHeaders : rawHeaders.filter((_, at) => rawHeaders[at - (at % 2)].toLowerCase() !== "content-encoding");
  return { method, url: originalUrl, headers: rest, rawHeaders: kept, httpVersion, socket };
}
