// A function as host2 calls it: its event of a request or of a clock comes in, its answer goes out.
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

import { call, prepare } from "./calling/call.mjs";
import { answerHeaders, preflightHeaders } from "./serving_cors.mjs";
import { answerOf, BadAnswer, eventOf } from "./serving_http.mjs";
import { routed, routesOf } from "./serving_routes.mjs";

const FOLDER = dirname(dirname(fileURLToPath(import.meta.url)));

// `said` is what fabric says of the function; `routes` in it have `method`, `path` and `cors`.
export async function lambda(said) {
  const handler = await prepare({ ...said, folder: FOLDER });
  const routes = routesOf(said.routes);
  return async (given) => {
    if (isOfClock(given)) return timed(handler, said);
    return sent(await answered(handler, said, routes, requestOf(given)));
  };
}

function isOfClock(given) {
  return Object.entries(given.headers ?? {}).some(([name, value]) => name.toLowerCase() === "x-nf-event" && value === "schedule");
}

// What has a schedule has no address there; what has neither is met by nobody.
async function timed(handler, said) {
  if (!said.schedule) return sent(message(404, "Not Found"));
  const time = new Date().toISOString().replace(/\.\d+/, "");
  const event = { version: "0", id: randomUUID(), "detail-type": "Scheduled Event", source: "aws.events", account: "", time, region: "", resources: [said.schedule], detail: {} };
  try {
    const answer = await inTime(call(handler, event), said.seconds);
    if (answer === LATE) throw new Error(`timeout: no response within ${said.seconds} s`);
  } catch (error) {
    console.error(error?.stack ?? error);
    throw error;
  }
  return { statusCode: 200, body: "" };
}

async function answered(handler, said, routes, request) {
  const [path] = request.url.split("?");
  if (!routes.length) return message(404, "Not Found");
  const route = routed(routes, request.method, path);
  if (!route.key) {
    const open = preflightHeaders(route.rows, request.method, (name) => request.headers[name]);
    if (open) return { status: 204, headers: Object.entries(open), body: Buffer.alloc(0) };
    return route.allowed.length ? message(405, "Method Not Allowed", [["allow", route.allowed.join(", ")]]) : message(404, "Not Found");
  }
  return shared(await replied(handler, said, request, route), route.row.cors, request.headers.origin);
}

// What the trigger says goes before what the handler says.
function shared(answer, cors, origin) {
  const open = Object.entries(cors ? answerHeaders(cors, origin) : {});
  const names = new Set(open.map(([name]) => name).filter((name) => name !== "vary"));
  return { ...answer, headers: [...answer.headers.filter(([name]) => !names.has(name)), ...open] };
}

async function replied(handler, said, request, route) {
  try {
    const answer = await inTime(call(handler, eventOf(request, request.body, route)), said.seconds);
    return answer === LATE ? message(504, "Gateway Timeout") : answerOf(answer);
  } catch (error) {
    console.error(error?.stack ?? error);
    return error instanceof BadAnswer ? message(502, "Bad Gateway") : message(500, "Internal Server Error");
  }
}

const LATE = Symbol("late");

function inTime(calling, seconds) {
  if (!seconds) return calling;
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, seconds * 1000, LATE)));
  calling.catch(() => {});
  return Promise.race([calling, late]).finally(() => clearTimeout(timer));
}

// As Node's own server has a request.
function requestOf(given) {
  const asked = given.rawUrl ? new URL(given.rawUrl) : null;
  const path = asked?.pathname ?? given.path;
  const query = asked ? asked.search.slice(1) : (given.rawQuery ?? new URLSearchParams(given.queryStringParameters ?? {}).toString());
  const pairs = Object.entries(given.multiValueHeaders ?? given.headers ?? {}).flatMap(([name, values]) => [values].flat().map((one) => [name.toLowerCase(), String(one)]));
  const headers = {};
  for (const [name, value] of pairs) headers[name] = name in headers ? `${headers[name]}${name === "cookie" ? "; " : ", "}${value}` : value;
  return {
    method: given.httpMethod,
    url: query ? `${path}?${query}` : path,
    headers: { ...headers, "x-forwarded-for": headers["x-nf-client-connection-ip"] ?? headers["x-forwarded-for"] ?? "" },
    rawHeaders: pairs.flat(),
    httpVersion: "1.1",
    socket: {},
    body: Buffer.from(given.body ?? "", given.isBase64Encoded ? "base64" : "utf8"),
  };
}

function message(status, text, headers = []) {
  return { status, headers: [["content-type", "application/json"], ...headers], body: Buffer.from(JSON.stringify({ message: text })) };
}

function sent({ status, headers, body }) {
  const multiValueHeaders = {};
  for (const [name, value] of headers) multiValueHeaders[name] = [...(multiValueHeaders[name] ?? []), value];
  const isText = isUtf8(body) && !("content-encoding" in multiValueHeaders);
  return { statusCode: status, multiValueHeaders, body: body.toString(isText ? "utf8" : "base64"), isBase64Encoded: !isText };
}
