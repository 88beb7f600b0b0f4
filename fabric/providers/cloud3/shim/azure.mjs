// A service as Azure Functions calls it: each function of the app is one trigger, and its route is
// found again here, for the host tells no path as it was asked for.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { call, prepare } from "./calling/call.mjs";
import { failed, message, timed, unrouted } from "./serving_answers.mjs";
import { eventOf, split } from "./serving_http.mjs";
import { preflight, shared } from "./serving_open.mjs";
import { routed, routesOf } from "./serving_routes.mjs";

const APP = JSON.parse(readFileSync(new URL("said.json", import.meta.url)));
const ROUTES = routesOf(APP.routes);
Object.assign(process.env, APP.env);
// Settings of the app are those of several versions: their names say which.
for (const name of APP.secrets) process.env[name] = process.env[APP.prefix + name] ?? "";

const handlers = new Map();

function handlerOf(number) {
  if (!handlers.has(number)) {
    const said = APP.functions[number];
    const ready = prepare({ ...said, folder: fileURLToPath(new URL(said.folder, import.meta.url)) });
    ready.catch(() => handlers.delete(number));
    handlers.set(number, ready);
  }
  return handlers.get(number);
}

export async function http(context, req) {
  const asked = requestOf(req);
  context.res = responseOf(await answered(asked).catch(failed), asked.method);
}

async function answered(asked) {
  const route = routed(ROUTES, asked.method, split(asked.url)[0]);
  if (!route.key) return preflight(route, asked) ?? unrouted(route);
  const handler = await handlerOf(route.row.number);
  const answer = await timed(call(handler, eventOf(asked, asked.body, route)), handler.said.seconds).catch(failed);
  return shared(answer, route.row, asked.headers.origin);
}

// As Node's own server has a request.
function requestOf(req) {
  const rest = req.url.slice(req.url.indexOf("//") + 2);
  const url = rest.includes("/") ? rest.slice(rest.indexOf("/")) : "/";
  const pairs = Object.entries(req.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]);
  const body = Buffer.from(req.bufferBody ?? req.rawBody ?? "");
  return { method: req.method, url, headers: Object.fromEntries(pairs), rawHeaders: pairs.flat(), httpVersion: "1.1", socket: {}, body };
}

function responseOf({ status, headers, body }, method) {
  if (headers.some((pair) => pair.some((one) => /[\r\n\0]/.test(one)))) return responseOf(message(502, "Bad Gateway"), method);
  const cookies = headers.filter(([name]) => name === "set-cookie").map(([, value]) => cookieOf(value));
  const grouped = {};
  for (const [name, value] of headers) if (name !== "set-cookie") grouped[name] = name in grouped ? `${grouped[name]}, ${value}` : value;
  const hasBody = method !== "HEAD" && status !== 204 && status !== 304;
  return { status, headers: grouped, cookies, body: hasBody ? body : undefined };
}

const FLAGS = { secure: "secure", httponly: "httpOnly" };
const VALUES = { domain: "domain", path: "path" };

// The host takes cookies apart: a header of them is sent once only.
function cookieOf(text) {
  const [pair, ...rest] = text.split(";").map((one) => one.trim());
  const [name, value] = cut(pair);
  const cookie = { name, value };
  for (const [key, said] of rest.map(cut)) {
    const word = key.toLowerCase();
    if (word in FLAGS) cookie[FLAGS[word]] = true;
    else if (word in VALUES) cookie[VALUES[word]] = said;
    else if (word === "max-age") cookie.maxAge = Number(said);
    else if (word === "expires") cookie.expires = new Date(said);
    else if (word === "samesite") cookie.sameSite = said[0].toUpperCase() + said.slice(1).toLowerCase();
  }
  return cookie;
}

function cut(text) {
  const at = text.indexOf("=");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

// What has no answer: an error makes the host try again, or not, as its trigger does.
export async function event(number, given) {
  const handler = await handlerOf(number);
  const answer = await inTime(call(handler, given), handler.said.seconds);
  if (answer?.batchItemFailures?.length) throw new Error("the function reports its message as failed");
}

function inTime(calling, seconds) {
  if (!seconds) return calling;
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(reject, seconds * 1000, new Error(`timeout: no response within ${seconds} s`))));
  calling.catch(() => {});
  return Promise.race([calling, late]).finally(() => clearTimeout(timer));
}

export function clock(schedule) {
  const time = new Date().toISOString().replace(/\.\d+/, "");
  return { version: "0", id: randomUUID(), "detail-type": "Scheduled Event", source: "aws.events", account: "", time, region: "", resources: [schedule], detail: {} };
}

// A change of a blob, without its content.
export function blobOf(bucket, { subject, eventType, eventTime, data }) {
  const name = subject.slice(subject.indexOf("/blobs/") + 7);
  const key = encodeURIComponent(name).replace(/%2F/g, "/").replace(/%20/g, "+");
  const object = { key, size: Number(data?.contentLength ?? 0), eTag: data?.eTag ?? "" };
  const eventName = eventType.endsWith("BlobDeleted") ? "ObjectRemoved:Delete" : "ObjectCreated:Put";
  const row = { eventVersion: "2.1", eventSource: "aws:s3", eventTime, eventName, objstore1: { bucket: { name: bucket, arn: `arn:aws:s3:::${bucket}` }, object } };
  return { Records: [row] };
}

export function messageOf(queue, context, item) {
  const { id, dequeueCount, insertionTime } = context.bindingData ?? {};
  const body = typeof item === "string" ? item : Buffer.isBuffer(item) ? item.toString() : JSON.stringify(item);
  const sent = String(Date.parse(insertionTime ?? "") || Date.now());
  const attributes = { ApproximateReceiveCount: String(dequeueCount ?? 1), SentTimestamp: sent };
  return { Records: [{ messageId: id ?? randomUUID(), receiptHandle: "", body, attributes, messageAttributes: {}, eventSource: "aws:sqs", eventSourceARN: queue, awsRegion: "" }] };
}
