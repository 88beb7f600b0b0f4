// A stand-in for the host of Azure Functions and its Node worker, written from the documentation. It
// reads the folder of an app, routes requests as ASP.NET does, and calls functions of the v3 model.
import { readdirSync, readFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [folder, port] = process.argv.slice(2);
const host = JSON.parse(readFileSync(`${folder}/host.json`));
const prefix = host.extensions?.http?.routePrefix ?? "api";
const functions = new Map();
for (const name of readdirSync(folder)) {
  const path = `${folder}/${name}/function.json`;
  if (!existsSync(path)) continue;
  const { bindings, scriptFile } = JSON.parse(readFileSync(path));
  const module = await import(pathToFileURL(`${folder}/${name}/${scriptFile}`));
  const trigger = bindings.find((one) => /trigger$/i.test(one.type));
  functions.set(name, { name, trigger, bindings, run: module.default });
}

function rankOf(segment) {
  return segment.startsWith("{*") ? 2 : segment.startsWith("{") ? 1 : 0;
}

const routes = [...functions.values()]
  .filter(({ trigger }) => trigger.type === "httpTrigger")
  .map((one) => {
    const segments = [prefix, one.trigger.route || one.name].join("/").split("/").filter(Boolean);
    return { one, segments, rank: segments.map(rankOf).concat(0).join("") };
  })
  .sort((left, right) => (left.rank < right.rank ? -1 : left.rank > right.rank ? 1 : 0));

function matched(segments, asked) {
  for (const [at, one] of segments.entries()) {
    if (one.startsWith("{*")) return true;
    if (asked[at] === undefined) return false;
    if (!one.startsWith("{") && one.toLowerCase() !== decodeURIComponent(asked[at]).toLowerCase()) return false;
  }
  return asked.length === segments.length;
}

function found(method, path) {
  const asked = path.split("/").filter(Boolean);
  return routes.find(({ one, segments }) => matched(segments, asked) && (!one.trigger.methods || one.trigger.methods.includes(method.toLowerCase())))?.one;
}

async function bodyOf(req) {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function contextOf(name, bindingData = {}) {
  const log = Object.assign(console.log, { error: console.error, warn: console.warn, info: console.info, verbose: console.log });
  return { invocationId: crypto.randomUUID(), bindingData, bindings: {}, log, res: {}, executionContext: { functionName: name } };
}

async function answered(req, res) {
  const [path] = req.url.split("?");
  const bufferBody = await bodyOf(req);
  if (path.startsWith("/admin/functions/")) return triggered(path.slice(17), JSON.parse(bufferBody), res);
  const one = found(req.method, path);
  if (!one) return res.writeHead(404).end();
  const url = `https://${req.headers.host}${req.url}`;
  const given = { method: req.method, url, originalUrl: url, headers: req.headers, query: {}, params: {}, bufferBody, rawBody: bufferBody.toString(), body: bufferBody.toString() };
  const context = contextOf(one.name);
  const { status, headers, cookies, body } = (await one.run(context, given)) ?? context.res;
  for (const [name, value] of Object.entries(headers ?? {})) res.setHeader(name, value);
  const made = (cookies ?? []).map(cookieText);
  if (made.length) res.setHeader("set-cookie", made);
  res.writeHead(status).end(body);
}

function cookieText({ name, value, path, domain, maxAge, expires, secure, httpOnly, sameSite }) {
  const words = [`${name}=${value}`, path && `path=${path}`, domain && `domain=${domain}`, maxAge !== undefined && `max-age=${maxAge}`];
  words.push(expires && `expires=${expires.toUTCString()}`, secure && "secure", httpOnly && "httponly", sameSite && `samesite=${sameSite.toLowerCase()}`);
  return words.filter(Boolean).join("; ");
}

async function triggered(name, { input }, res) {
  const one = functions.get(name);
  if (!one) return res.writeHead(404).end();
  const isQueue = one.trigger.type === "queueTrigger";
  const isGrid = one.trigger.type === "eventGridTrigger";
  const given = isQueue || isGrid ? parsed(input) : { isPastDue: false };
  const data = isQueue ? { id: crypto.randomUUID(), dequeueCount: 1, insertionTime: new Date().toISOString() } : {};
  try {
    await one.run(contextOf(name, data), given);
    res.writeHead(202).end();
  } catch (error) {
    res.writeHead(500).end(String(error?.message ?? error));
  }
}

// The worker parses messages that are JSON.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

createServer((req, res) => answered(req, res).catch((error) => res.writeHead(500).end(String(error?.stack ?? error)))).listen(Number(port), "127.0.0.1");
