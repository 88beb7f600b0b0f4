// Serves one function as an action of OpenWhisk: requests of its web address become our events, and
// answers what a web action gives back. Whoever has a key may send an event instead.
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { call, prepare } from "./calling/call.mjs";
import { failed, message, timed, unrouted } from "./serving_answers.mjs";
import { BadAnswer, eventOf, split } from "./serving_http.mjs";
import { preflight, shared } from "./serving_open.mjs";
import { routed, routesOf } from "./serving_routes.mjs";

const EVENT = "__fabric_event";
// An answer of the shim comes before the platform ends the call.
const EARLIER = 0.2;
// What counts as text there; all else is base64 on the way.
const TEXTS = new Set(["application/xml", "application/javascript", "application/x-javascript", "application/x-www-form-urlencoded", "application/xhtml+xml", "application/atom+xml", "application/rss+xml", "application/soap+xml", "image/svg+xml"]);
const KNOWN_TEXTS = new Set(["text/plain", "text/html", "text/css", "text/csv", "text/xml", "text/markdown", "text/asp", "text/event-stream", "text/richtext", "text/tab-separated-values"]);
const BYTES = "application/octet-stream";
const HEADERS_OF_BYTES = new Set(["content-length", "transfer-encoding"]);

export async function activated(root, said) {
  const folder = fileURLToPath(new URL("function", root));
  // A path that is relative begins where the archive does.
  process.chdir(folder);
  const handler = await prepare({ ...said, folder });
  const routes = routesOf(said.routes);
  return (given) => (routes.length && !(EVENT in given) && requestIn(given) ? webAnswer(handler, routes, requestIn(given)) : eventAnswer(handler, given));
}

async function eventAnswer(handler, given) {
  if (!(EVENT in given)) return named(await call(handler, given));
  const event = given[EVENT];
  const isTimed = event?.["detail-type"] === "Scheduled Event";
  return { response: await call(handler, isTimed ? { ...event, id: randomUUID(), time: new Date().toISOString().replace(/\.\d+/, "") } : event) };
}

// An action answers with an object.
function named(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : { response: value };
}

async function webAnswer(handler, routes, { req, body }) {
  const answer = await routedAnswer(handler, routes, req, body).catch(failed);
  try {
    return resultOf(answer, req.method);
  } catch (error) {
    return resultOf(failed(error), req.method);
  }
}

async function routedAnswer(handler, routes, req, body) {
  const route = routed(routes, req.method, split(req.url)[0]);
  if (!route.key) return preflight(route, req) ?? unrouted(route);
  const seconds = handler.said.seconds && handler.said.seconds - EARLIER;
  const answer = await timed(call(handler, eventOf(req, body, route)), seconds).catch(failed);
  return shared(answer, route.row, req.headers.origin);
}

// As OpenWhisk tells it, or in one `http` as some who run it do.
function requestIn(given) {
  const said = given.http?.method ? fromHttp(given.http) : given.__ow_method ? fromNames(given) : undefined;
  if (!said) return undefined;
  const headers = Object.fromEntries(Object.entries(said.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]));
  const rawHeaders = Object.entries(headers).flat();
  const url = (said.path?.startsWith("/") ? said.path : `/${said.path ?? ""}`) + (said.query ? `?${said.query}` : "");
  const req = { method: said.method.toUpperCase(), url, headers, rawHeaders, httpVersion: "1.1", socket: {} };
  return { req, body: said.body(headers["content-type"] ?? "") };
}

function fromHttp({ method, path, queryString, headers, body, isBase64Encoded }) {
  return { method, path, query: queryString, headers, body: () => Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8") };
}

function fromNames({ __ow_method: method, __ow_path: path, __ow_query: query, __ow_headers: headers, __ow_body: body }) {
  const bytes = (type) => Buffer.from(body ?? "", isJson(type) ? "base64" : isText(type) ? "utf8" : "base64");
  return { method, path, query, headers, body: bytes };
}

// Of a request JSON alone is base64; answers of its whole family may be.
function isJson(type) {
  return kindOf(type) === "application/json";
}

function kindOf(type) {
  return type.split(";")[0].trim().toLowerCase();
}

function isText(type) {
  const kind = kindOf(type);
  return TEXTS.has(kind) || KNOWN_TEXTS.has(kind) || kind.endsWith("+json") || /;\s*charset=/i.test(type);
}

function resultOf({ status, headers, body }, method) {
  const grouped = {};
  for (const [name, value] of headers) {
    if (/[\r\n\0]/.test(name + value)) throw new BadAnswer("a header of the response contains a line break");
    if (!HEADERS_OF_BYTES.has(name)) grouped[name] = name in grouped ? [grouped[name], value].flat() : value;
  }
  const hasBody = body.length && method !== "HEAD" && status !== 204 && status !== 304;
  if (!hasBody) return { statusCode: status, headers: grouped, body: "" };
  const text = carried(body, String(grouped["content-type"] ?? ""));
  // What is text there has to be UTF-8: other bytes go as bytes.
  if (text === undefined) grouped["content-type"] = BYTES;
  return { statusCode: status, headers: grouped, body: text ?? body.toString("base64") };
}

function carried(body, type) {
  const isBase64 = isJson(type) || kindOf(type).endsWith("+json") || !isText(type);
  if (isBase64) return body.toString("base64");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}
