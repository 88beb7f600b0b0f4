// A function as host1 calls it: with Node's own request and response. Routes are those of the whole
// service, for whoever is asked for a path tells of all that it takes. A clock asks for a path that
// nobody else knows.
import { randomUUID, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

import { call, prepare } from "./calling/call.mjs";
import { failed, message, sent, timed, unrouted } from "./serving_answers.mjs";
import { answerHeaders, preflightHeaders } from "./serving_cors.mjs";
import { eventOf, split } from "./serving_http.mjs";
import { routed, routesOf } from "./serving_routes.mjs";

const FOLDER = dirname(dirname(fileURLToPath(import.meta.url)));

// `said` is what fabric says of the function.
export async function listener(said) {
  // A path that is relative begins where the archive does.
  process.chdir(FOLDER);
  const rows = JSON.parse(readFileSync(new URL("routes.json", import.meta.url)));
  const handler = await prepare({ ...said, folder: FOLDER });
  const routes = routesOf(rows);
  return (req, res) => answered(handler, said, routes, req).catch(failed).then((answer) => sent(req, res, answer));
}

function answered(handler, said, routes, req) {
  const [path] = split(req.url);
  const clock = said.clocks.find((one) => same(one.path, path));
  return clock ? ticked(handler, said, clock) : routedAnswer(handler, said, routes, req, path);
}

async function ticked(handler, said, { schedule }) {
  const time = new Date().toISOString().replace(/\.\d+/, "");
  const event = { version: "0", id: randomUUID(), "detail-type": "Scheduled Event", source: "aws.events", account: "", time, region: "", resources: [schedule], detail: {} };
  const { status } = await timed(
    call(handler, event).then(() => ({ statusCode: 204 })),
    said.seconds,
  );
  return { status, headers: [], body: Buffer.alloc(0) };
}

async function routedAnswer(handler, said, routes, req, path) {
  // Without any route nobody is let in.
  const route = routes.length ? routed(routes, req.method, path) : { rows: [], allowed: [] };
  if (!route.key) return preflight(route, req) ?? unrouted(route);
  if (route.row.function !== said.functionName) return message(404, "Not Found");
  const answer = await timed(call(handler, eventOf(req, await bodyOf(req), route)), said.seconds).catch(failed);
  return route.row.cors ? shared(answer, answerHeaders(route.row.cors, req.headers.origin)) : answer;
}

function preflight({ rows }, req) {
  const open = preflightHeaders(rows, req.method, (name) => req.headers[name]);
  return open && { status: 204, headers: Object.entries(open), body: Buffer.alloc(0) };
}

// What the trigger says goes before what the handler says; what an answer depends on adds up.
function shared(answer, open) {
  const rest = answer.headers.filter(([name]) => name === "vary" || !(name in open));
  return { ...answer, headers: [...rest, ...Object.entries(open)] };
}

async function bodyOf(req) {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function same(one, other) {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
