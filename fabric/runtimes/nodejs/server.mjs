// Serves the functions of a container, most often one: archives in parts and what fabric says of
// them come in, HTTP goes in and out. With FABRIC_EVENT one is called once instead, and the process
// ends. Of several, `functions` has what is said of each, and the archive of each is in a folder named
// by its number.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { join, resolve } from "node:path";

import { call, prepare } from "./calling/call.mjs";
import { answering, takeClock } from "./framework.mjs";
import { failed, message, sent, timed, unrouted } from "./serving_answers.mjs";
import { eventOf, split } from "./serving_http.mjs";
import { preflight, shared } from "./serving_open.mjs";
import { routed, routesOf } from "./serving_routes.mjs";
import { laidOut } from "./unzip.mjs";

const said = JSON.parse(process.env.FABRIC_SAID);
const { FABRIC_CODE: parts, FABRIC_WORK: work, FABRIC_EVENT: once, PORT: port = "8080" } = process.env;
const READY = "/.fabric/ready";
const MOST = 32 * 1024 * 1024;
// Those are ours: a handler meets its own environment.
for (const name of ["FABRIC_SAID", "FABRIC_CODE", "FABRIC_WORK", "FABRIC_EVENT"]) delete process.env[name];

const clock = said.events ? takeClock() : undefined;

let underWay = 0;
let isEnding = false;

// What nobody catches leaves the process in no state to go on: it is started anew.
process.on("uncaughtException", (error) => {
  console.error(error?.stack ?? error);
  process.exit(1);
});

const folder = (number) => (said.unpacked ? resolve(parts) : laidOut(join(parts, number), resolve(join(work, "function", number))));
const prepared = (one, number = "") => Promise.resolve().then(() => prepare({ ...one, folder: folder(number) }));
const loading = said.functions ? said.functions.map((one, number) => prepared(one, String(number))) : [prepared(said)];
const handlers = await Promise.all(loading).catch((error) => {
  console.error(error?.stack ?? error);
  process.exit(1);
});
const answerEvents = said.events ? answering(handlers[0], routesOf(said.routes), clock) : undefined;
await (once === undefined ? serve() : callOnce(handlers[0]));

async function callOnce(handler) {
  process.on("SIGTERM", () => process.exit(143));
  try {
    const event = JSON.parse(once);
    const timed = event?.["detail-type"] === "Scheduled Event" ? { id: randomUUID(), time: new Date().toISOString().replace(/\.\d+/, "") } : {};
    await call(handler, typeof event === "object" && event !== null ? { ...event, ...timed } : event);
    process.exit(0);
  } catch (error) {
    console.error(error?.stack ?? error);
    process.exit(1);
  }
}

function serve() {
  const rows = (said.functions ?? [said]).map(({ routes }, number) => (routes ?? []).map((row) => ({ ...row, number })));
  const routes = routesOf(rows.flat());
  const server = createServer((req, res) => {
    underWay += 1;
    res.on("close", () => (underWay -= 1));
    const ending = () => (isEnding ? { connection: "close" } : {});
    answered(routes, req).catch(failed).then((answer) => sent(req, res, answer, ending()));
  });
  server.requestTimeout = 0;
  // Longer than controllers keep idle connections: who comes closes first.
  server.keepAliveTimeout = 75_000;
  server.listen(Number(port));
  process.on("SIGTERM", () => end(server));
}

// Requests still come for a moment, until nobody is sent here any more; what is under way is ended.
function end(server) {
  isEnding = true;
  setTimeout(() => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  }, (said.drain ?? 3) * 1000);
}

async function answered(routes, req) {
  const [path] = split(req.url);
  if (path === READY) return message(isEnding ? 503 : 200, isEnding ? "ending" : "ready");
  if (said.functions) return answeredByOne(routes, req, path);
  if (answerEvents) return eventAnswered(req);
  const route = routed(routes, req.method, path);
  if (!route.key) return unrouted(route);
  return called(handlers[0], req, route);
}

// Nothing stands before several functions: which one it is, and what other origins are told, is decided here.
async function answeredByOne(routes, req, path) {
  const route = routes.length ? routed(routes, req.method, path) : { rows: [], allowed: [] };
  if (!route.key) return preflight(route, req) ?? unrouted(route);
  const answer = await called(handlers[route.row.number], req, route).catch(failed);
  return shared(answer, route.row, req.headers.origin);
}

async function called(handler, req, route) {
  if (said.most && underWay > said.most) return message(429, "Too Many Requests");
  const body = await bodyOf(req);
  if (body === undefined) return message(413, "Content Too Large");
  return timed(call(handler, eventOf(req, body, route)), handler.said.seconds);
}

async function eventAnswered(req) {
  if (said.most && underWay > said.most) return message(429, "Too Many Requests");
  const body = await bodyOf(req);
  return body === undefined ? message(413, "Content Too Large") : answerEvents(req, body);
}

async function bodyOf(req) {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > MOST) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
