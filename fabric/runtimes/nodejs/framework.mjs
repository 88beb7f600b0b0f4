// Serves one function below Google's functions framework: its requests become our events. Without
// routes nobody but a clock or a caller with a right of its own comes: the body is the event.
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { call, prepare } from "./calling/call.mjs";
import { failed, message, sent, timed, unrouted } from "./serving_answers.mjs";
import { eventOf, split } from "./serving_http.mjs";
import { routed, routesOf } from "./serving_routes.mjs";

export async function framed(root, said) {
  delete process.env.FABRIC_MARK;
  const folder = fileURLToPath(new URL("function", root));
  // A path that is relative begins where the archive does.
  process.chdir(folder);
  const handler = await prepare({ ...said, folder });
  const routes = routesOf(said.routes);
  const given = routes.length ? (req) => routedAnswer(handler, routes, req) : (req) => eventAnswer(handler, req);
  return (req, res) => given(req).catch(failed).then((answer) => sent(req, res, answer));
}

async function routedAnswer(handler, routes, req) {
  const route = routed(routes, req.method, split(req.originalUrl)[0]);
  if (!route.key) return unrouted(route);
  return timed(call(handler, eventOf(taken(req), bodyOf(req), route)), handler.said.seconds);
}

async function eventAnswer(handler, req) {
  let event;
  try {
    event = JSON.parse(bodyOf(req).toString() || "{}");
  } catch {
    return message(400, "Bad Request");
  }
  const isTimed = event?.["detail-type"] === "Scheduled Event";
  const given = isTimed ? { ...event, id: randomUUID(), time: timeOf(req.headers["x-cloudscheduler-scheduletime"]) } : event;
  return timed(call(handler, given), handler.said.seconds);
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
