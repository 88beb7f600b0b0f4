// A web Request in, a web Response out: Node has both itself.
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";

import { answerOf, requestOf } from "./http_events.mjs";

const BODILESS = new Set(["GET", "HEAD"]);

export function isResponse(value) {
  return typeof value?.arrayBuffer === "function" && typeof value?.status === "number" && value.headers !== undefined;
}

export function webRequest({ method, target, host, headers, body }) {
  const url = new URL(target, `https://${host}`);
  const sent = BODILESS.has(method) || !body.length ? undefined : body;
  const { host: _host, "content-length": _length, ...rest } = headers;
  return new Request(url, { method, headers: rest, body: sent });
}

export async function webAnswer(response, whose = "the handler") {
  if (!isResponse(response)) throw new TypeError(`${whose} returned ${named(response)} instead of a Response`);
  const headers = [...response.headers].map(([name, value]) => [name.toLowerCase(), value]);
  return answerOf(response.status, headers, Buffer.from(await response.arrayBuffer()));
}

function named(value) {
  return value === null || value === undefined ? String(value) : `a ${value?.constructor?.name ?? typeof value}`;
}

// Work that goes on after the answer: it is waited for, and what fails in it is written down.
export function afterwards() {
  const waiting = [];
  const waitUntil = (work) => void waiting.push(Promise.resolve(work).catch((error) => console.error(error)));
  const done = async () => {
    while (waiting.length) await waiting.shift();
  };
  return { waitUntil, done };
}

// `found` is a function, or an object with `fetch`.
export async function byWeb(found, event, said) {
  const request = requestOf(event, said);
  const later = afterwards();
  const cookies = jar(request);
  const handler = typeof found === "function" ? found : found.fetch.bind(found);
  const response = (await handler(webRequest(request), contextOf(request, said, later, cookies))) ?? new Response(null, { status: 204 });
  const answer = await webAnswer(response);
  await later.done();
  return cookies.added.length ? { ...answer, cookies: [...(answer.cookies ?? []), ...cookies.added] } : answer;
}

// A module may export one function for each method.
export async function byMethod(exports, event, said) {
  const { method } = requestOf(event, said);
  const found = exports[method] ?? (method === "HEAD" ? exports.GET : undefined);
  if (typeof found === "function") return byWeb(found, event, said);
  return webAnswer(new Response(null, { status: 405 }));
}

function contextOf(request, said, { waitUntil }, cookies) {
  return {
    account: {},
    cookies,
    deploy: {},
    geo: {},
    ip: request.ip,
    json: (value, init) => Response.json(value, init),
    log: console.log,
    params: { ...request.params },
    requestId: randomUUID(),
    server: { region: said.region ?? "" },
    site: {},
    url: new URL(request.target, `https://${request.host}`),
    waitUntil,
  };
}

function jar(request) {
  const pairs = (request.headers.cookie ?? "").split(";").map((one) => one.trim().split("="));
  const known = new Map(pairs.map(([name, ...rest]) => [name, rest.join("=")]));
  const added = [];
  return {
    added,
    get: (name) => known.get(name),
    set: (name, value) => void (typeof name === "string" ? added.push(`${name}=${value}`) : added.push(`${name.name}=${name.value}`)),
    delete: (name) => void added.push(`${typeof name === "string" ? name : name.name}=; Max-Age=0`),
  };
}
