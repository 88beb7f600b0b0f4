// Serves one function as Function Compute calls it: the event of a route becomes ours, and so does a
// clock's; what is answered goes back as that platform reads it. Whoever may call it by its name sends
// an event instead.
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { call, prepare } from "./calling/call.mjs";
import { failed, timed, unrouted } from "./serving_answers.mjs";
import { BadAnswer, eventOf, split } from "./serving_http.mjs";
import { preflight, shared } from "./serving_open.mjs";
import { routed, routesOf } from "./serving_routes.mjs";

const EVENT = "__fabric_event";
// An answer of the shim comes before the platform ends the call.
const EARLIER = 0.2;
const HEADERS_OF_BYTES = new Set(["content-length", "transfer-encoding"]);

export async function invoked(root, said) {
  const folder = fileURLToPath(new URL("function", root));
  // A path that is relative begins where the archive does.
  process.chdir(folder);
  const handler = await prepare({ ...said, folder });
  const routes = routesOf(said.routes);
  return (bytes) => {
    const given = eventIn(bytes);
    return routes.length && given?.requestContext?.http && !(EVENT in given) ? webAnswer(handler, routes, given) : eventAnswer(handler, given);
  };
}

function eventIn(bytes) {
  const text = Buffer.from(bytes ?? "").toString();
  try {
    return JSON.parse(text || "null");
  } catch {
    return text;
  }
}

async function eventAnswer(handler, given) {
  const clock = given?.triggerName && typeof given.payload === "string" ? eventIn(given.payload) : undefined;
  const own = typeof clock === "object" && clock !== null && EVENT in clock ? clock : given;
  if (typeof own !== "object" || own === null || !(EVENT in own)) return call(handler, given);
  const event = own[EVENT];
  const answer = await call(handler, own === clock ? { ...event, id: randomUUID(), time: timeOf(given.triggerTime) } : event);
  return { response: answer ?? null };
}

// When it was due, or now.
function timeOf(said) {
  const due = new Date(said ?? Date.now());
  return (Number.isNaN(due.getTime()) ? new Date() : due).toISOString().replace(/\.\d+/, "");
}

async function webAnswer(handler, routes, given) {
  const { req, body } = requestIn(given);
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

function requestIn({ rawPath, headers, queryParameters, body, isBase64Encoded, requestContext: { http } }) {
  const own = Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]));
  const query = Object.entries(queryParameters ?? {}).map((pair) => pair.map((one) => encodeURIComponent(String(one))).join("="));
  const url = (rawPath || "/") + (query.length ? `?${query.join("&")}` : "");
  const socket = { remoteAddress: http.sourceIp };
  const req = { method: http.method.toUpperCase(), url, headers: own, rawHeaders: Object.entries(own).flat(), httpVersion: "1.1", socket };
  return { req, body: Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8") };
}

// Each header once: there is no other way there.
function resultOf({ status, headers, body }, method) {
  const grouped = {};
  for (const [name, value] of headers) {
    if (/[\r\n\0]/.test(name + value)) throw new BadAnswer("a header of the response contains a line break");
    if (name === "set-cookie" && name in grouped) throw new BadAnswer("warning: only one cookie of the response is sent at Alibaba Cloud");
    if (!HEADERS_OF_BYTES.has(name)) grouped[name] = name in grouped ? `${grouped[name]}, ${value}` : value;
  }
  const hasBody = body.length && method !== "HEAD" && status !== 204 && status !== 304;
  const text = hasBody ? textIn(body) : "";
  return { statusCode: status, headers: grouped, isBase64Encoded: text === undefined, body: text ?? body.toString("base64") };
}

function textIn(body) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}
