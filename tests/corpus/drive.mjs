// Runs a handler of an unpacked archive by itself: `node drive.mjs <handler> <way> <calls> <express>`.
// It has nothing of fabric's: plain events, or the real server that the way asks for.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { PassThrough } from "node:stream";
import { pathToFileURL } from "node:url";

const [handler, way, callsFile, express] = process.argv.slice(2);
const at = handler.lastIndexOf(".");
const [module, name] = [handler.slice(0, at), handler.slice(at + 1)];

globalThis.awslambda = {
  streamifyResponse: (found) => found,
  HttpResponseStream: { from: (stream, said) => Object.assign(stream, { said }) },
};

async function load() {
  const file = [".js", ".mjs"].map((end) => `${process.cwd()}/${module}${end}`).find(existsSync);
  const exports = await import(pathToFileURL(file).href);
  return { found: exports[name] ?? exports.default?.[name] ?? exports.default, exports: { ...exports.default, ...exports } };
}

const context = { functionName: process.env.FUNCTION, awsRequestId: "1", getRemainingTimeInMillis: () => 9000 };

async function streamed(found, { event }) {
  const stream = new PassThrough();
  const body = (async () => (await stream.toArray()).join(""))();
  await found(event, stream, context);
  const { statusCode, headers } = stream.said;
  const lower = Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]);
  return { statusCode, headers: Object.fromEntries(lower), body: await body, isBase64Encoded: false };
}

async function ofResponse(response) {
  const headers = Object.fromEntries(response.headers);
  const cookies = response.headers.getSetCookie();
  const body = Buffer.from(await response.arrayBuffer()).toString("base64");
  return { statusCode: response.status, headers, cookies, body, isBase64Encoded: true };
}

function webRequest({ method, target, headers, body }) {
  const { host, ...rest } = headers;
  return new Request(new URL(target, `https://${host}`), { method, headers: rest, body: body || undefined });
}

// A real server on a free port of this machine, asked by a real client.
async function served(listener, { method, target, headers, body }) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const url = `http://127.0.0.1:${server.address().port}${target}`;
  const { host, ...rest } = headers;
  const response = await fetch(url, { method, headers: rest, body: body || undefined, redirect: "manual" });
  const answer = await ofResponse(response);
  server.closeAllConnections();
  server.close();
  return answer;
}

// As the hosts of (req, res) do it: Express, with the body read before.
function hosted(found) {
  const require = createRequire(`${express}/`);
  const app = require("express")();
  const { json, urlencoded } = require("express");
  app.use(require("cookie-parser")());
  app.use(json({ verify: (req, _res, bytes) => (req.rawBody = bytes) }), urlencoded({ extended: true }));
  return app.use((req, res, next) => Promise.resolve(found(req, res)).catch(next));
}

const jar = () => {
  const cookies = [];
  return { cookies, set: ({ name: key, value }) => cookies.push(`${key}=${value}`) };
};

async function contextFirst(found, { method, target, headers, event }) {
  const query = Object.fromEntries(new URL(target, "http://host").searchParams);
  const log = () => {};
  const asked = { log, res: {}, bindingData: event.pathParameters };
  await found(asked, { method, query, headers, params: event.pathParameters });
  const { status: statusCode, headers: said, body } = asked.res;
  return { statusCode, headers: said, body: JSON.stringify(body), isBase64Encoded: false };
}

const WAYS = {
  event: ({ found }, { event }) => found(event, { ...context }),
  stream: ({ found }, call) => streamed(found, call),
  listener: ({ found }, call) => served(found, call),
  express: ({ found }, call) => served(hosted(found), call),
  worker: async ({ found }, call) => ofResponse(await found.fetch(webRequest(call), { ...process.env }, { waitUntil() {} })),
  methods: async ({ exports }, call) => ofResponse(await exports[call.method](webRequest(call))),
  "context-first": ({ found }, call) => contextFirst(found, call),
  async web({ found }, call) {
    const cookies = jar();
    const answer = await ofResponse(await found(webRequest(call), { params: call.event.pathParameters ?? {}, cookies }));
    return { ...answer, cookies: cookies.cookies };
  },
  "cloud-event": ({ found }, { event }) =>
    found({ id: event.message.messageId, type: "google.cloud.pubsub.topic.v1.messagePublished", data: event }),
};

const loaded = await load();
const answers = [];
for (const call of JSON.parse(readFileSync(callsFile, "utf8"))) {
  try {
    answers.push((await WAYS[way](loaded, call)) ?? null);
  } catch (error) {
    answers.push({ fails: `${error.name}: ${error.message}` });
  }
}
process.stdout.write(`\n${JSON.stringify(answers)}`, () => process.exit(0));
