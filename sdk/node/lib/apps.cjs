"use strict";
// The kinds of applications, and how each gets ready and is asked.
const { byListener } = require("./exchange.cjs");

const HINT = "an Express application, a function (req, res), a Fastify instance, a Nest application, or a promise of one";

// An error, where there is nothing to wrap.
function refused(app) {
  if (typeof app === "function" || isNest(app) || isFastify(app) || isPromise(app)) return undefined;
  const said = app !== null && typeof app === "object" ? "an object with none of their methods" : String(app);
  return new TypeError(`handler() takes ${HINT}; this is ${said}`);
}

function isNest(app) {
  return typeof app?.getHttpAdapter === "function";
}

function isFastify(app) {
  return typeof app?.inject === "function";
}

// Fastify's instances have a then() besides, which starts them.
function isPromise(app) {
  return typeof app?.then === "function" && typeof app !== "function" && !isFastify(app) && !isNest(app);
}

// The function by which it is asked.
async function byAnyKind(app) {
  const problem = refused(app);
  if (problem) throw problem;
  if (isNest(app)) return byNest(app);
  if (isFastify(app)) return byFastify(app);
  if (typeof app === "function") return byListener(app);
  return byAnyKind(await app);
}

// Getting ready a second time does nothing in either framework.
async function byNest(app) {
  await app.init?.();
  const adapter = app.getHttpAdapter();
  return byAnyKind(adapter.getInstance?.() ?? adapter);
}

// Its listener is what inject() calls as well, with requests that have streams and a connection.
async function byFastify(app) {
  await app.ready?.();
  return typeof app.routing === "function" ? byListener(app.routing) : byInjection(app);
}

function byInjection(app) {
  return async ({ method, target, headers, body, address }) => {
    const payload = body.length ? { payload: body } : {};
    const single = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(", ")]);
    const sent = { method, url: target, headers: Object.fromEntries(single), remoteAddress: address, ...payload };
    const got = await app.inject(sent);
    return { status: got.statusCode, headers: pairsOf(got.headers), body: Buffer.from(got.rawPayload ?? got.payload ?? got.body ?? "") };
  };
}

function pairsOf(headers) {
  const given = Object.entries(headers ?? {}).filter(([, value]) => value !== undefined && value !== null);
  return given.flatMap(([name, value]) => [value].flat().map((one) => [name.toLowerCase(), String(one)]));
}

module.exports = { byAnyKind, isPromise, refused };
