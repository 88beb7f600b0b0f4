// The front: the interface below /client/v4, users below /met and /host, tests below /_server.
//
//   WRANGLER_MODULES=<folder of node_modules>/x.js node main.mjs PORT
//
// What is not written here answers 404 with code 7003, as an unknown path does: nothing is made up.
import { Buffer } from "node:buffer";
import http from "node:http";

import { accountOf, accountOfZone, close, left } from "./accounts.mjs";
import { assetCalls } from "./assets.mjs";
import { balancerCalls } from "./balancers.mjs";
import { counted, planned, refuse } from "./faults.mjs";
import { recordCalls } from "./records.mjs";
import { resourceCalls } from "./resources.mjs";
import { no, ok, Refused, refusal } from "./refusals.mjs";
import { answered, chosen, end, stopAll, timed } from "./running.mjs";
import { scriptCalls } from "./scripts.mjs";
import { drop, tailCalls, upgraded } from "./tails.mjs";
import { telemetryCalls } from "./telemetry.mjs";
import { scriptAt, zoneCalls } from "./zones.mjs";

const API = "/client/v4";
const CALLS = [...scriptCalls, ...zoneCalls, ...telemetryCalls, ...tailCalls, ...balancerCalls, ...recordCalls, ...resourceCalls, ...assetCalls].map(([method, pattern, act]) => ({ method, act, expression: new RegExp(`^${pattern.replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`) }));

async function interfaceOf(request) {
  const { path, method } = request;
  const owner = ownerOf(path);
  const account = owner ?? accountOf(tokenOf(request).replace(/^tok-/, ""));
  account?.calls.push([method, path, 0]);
  const row = account?.calls.at(-1);
  const fault = account && planned(account, method, path);
  try {
    checkToken(request, account);
    const headers = counted(account);
    if (fault && !fault.after && !fault.half) cut(fault);
    const found = await carriedOut(request, owner);
    if (fault?.after) cut(fault);
    row[2] = fault?.half ? 0 : 200;
    return { status: 200, headers, content: JSON.stringify(ok(found)), isHalf: Boolean(fault?.half) };
  } catch (error) {
    if (row) row[2] = error instanceof Refused ? error.status : 0;
    throw error;
  }
}

class CutError extends Error {}

function cut(fault) {
  if (fault.status) refuse(fault);
  throw new CutError();
}

function ownerOf(path) {
  const [, kind, id] = path.split("/");
  if (kind === "accounts") return accountOf(id);
  return kind === "zones" ? accountOfZone(id) : null;
}

function tokenOf(request) {
  return (request.headers.authorization ?? "").replace(/^Bearer /, "");
}

function checkToken(request, account) {
  const token = tokenOf(request);
  if (!token) no(400, 9106, "Missing X-Auth-Key, X-Auth-Email or Authorization headers"); // (docs)
  if (!/^(tok-acc|jwt-)/.test(token)) no(403, 10000, "Authentication error"); // (docs)
  // Static files are uploaded with the token of their session.
  if (account && token.startsWith("jwt-") && account.assets.sessions.has(token) && request.path.endsWith("/assets/upload")) return;
  if (account && token !== account.token) no(403, 10000, "Authentication error"); // (docs)
}

async function carriedOut(request, account) {
  for (const { method, act, expression } of CALLS) {
    const hit = method === request.method && account && expression.exec(request.path);
    if (hit) {
      const names = Object.fromEntries(Object.entries(hit.groups).map(([name, text]) => [name, decodeURIComponent(text)]));
      return act({ ...request, account, names, json: () => json(request.body) });
    }
  }
  return no(404, 7003, `Could not route to ${request.path}, perhaps your object identifier is invalid?`); // (docs)
}

function json(body) {
  try {
    return JSON.parse(body.toString());
  } catch {
    return no(400, 10021, "the body is not JSON");
  }
}

// /met/<account>/<worker>/… is a Worker below workers.dev, /host/<account>/<name>/… a name of a zone.
async function met(request) {
  const [, kind, id, name, ...rest] = request.path.split("/");
  const path = `/${rest.join("/")}`;
  const account = accountOf(id);
  const script = kind === "met" ? account?.scripts.get(name) : account && scriptAt(account, name, path);
  const isOpen = kind === "host" || script?.subdomain.enabled;
  if (!script || !isOpen) return { status: 404, headers: [["content-type", "text/plain"]], content: "error code: 1042" };
  const host = kind === "met" ? `${name}.${account.subdomain}.workers.dev` : name;
  const headers = Object.entries(request.headers).filter(([one]) => !["host", "connection"].includes(one));
  const url = `https://${host}${path}${request.search}`;
  const answer = await answered(account, chosen(script), { ...request, url, headers });
  const kept = [...answer.headers].filter(([one]) => !/^(mf-content-encoding|content-encoding|transfer-encoding|content-length|connection)$/.test(one));
  return { status: answer.status, headers: kept.flat(), content: Buffer.from(await answer.arrayBuffer()) };
}

async function handle(request) {
  const [, , what, id] = request.path.split("/");
  const account = accountOf(id);
  const given = request.body.length ? json(request.body) : {};
  const acts = {
    calls: () => account.calls,
    reset: () => Object.assign(account, { calls: [], faults: [], uploads: [], rate: null }) && null,
    fault: () => account.faults.push(given),
    throttle: () => (account.rate = { ...given, left: given.left ?? given.quota }),
    subdomain: () => ((account.subdomain = given.name), null),
    left: () => left(account),
    uploads: () => account.uploads,
    events: () => void account.events.push(...given),
    drop: () => drop(account),
    fill: () => void (account.buckets.get(`default/${given.bucket}`).isFull = true),
    tails: () => [...account.tails.values()].filter((one) => one.socket).map((one) => one.script),
    forget: async () => {
      for (const script of account.scripts.values()) await end(script);
      await account.world?.close();
      close(account);
    },
    fire: () => timed(account, chosen(account.scripts.get(given.worker)), given.cron),
    schedules: () => account.scripts.get(given.worker).schedules.map((one) => one.cron),
    bindings: () => account.scripts.get(given.worker).versions[0].metadata.bindings,
    counts: () => Object.fromEntries([...account.scripts.values()].map((one) => [one.name, one.versions.length])),
    said: () => chosen(account.scripts.get(given.worker)).lines ?? [],
  };
  const found = await acts[what]();
  return { status: 200, headers: [], content: JSON.stringify(found ?? null) };
}

async function read(incoming) {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const url = new URL(incoming.url, "http://front");
  return { method: incoming.method, path: url.pathname, search: url.search, query: url.searchParams, headers: incoming.headers, type: incoming.headers["content-type"] ?? "", body: Buffer.concat(chunks) };
}

async function served(incoming, outgoing) {
  const request = await read(incoming);
  try {
    const isApi = request.path.startsWith(`${API}/`);
    const act = isApi ? interfaceOf : request.path.startsWith("/_server/") ? handle : met;
    const answer = await act(isApi ? { ...request, path: request.path.slice(API.length) } : request);
    if (answer.isHalf) return half(outgoing, answer.content);
    outgoing.writeHead(answer.status, isApi ? { "content-type": "application/json", ...answer.headers } : answer.headers);
    outgoing.end(answer.content);
  } catch (error) {
    if (error instanceof CutError) return outgoing.destroy();
    if (!(error instanceof Refused)) console.error(error);
    const { status = 500, code = 10000, message, headers } = error;
    outgoing.writeHead(status, { "content-type": "application/json", ...headers });
    outgoing.end(JSON.stringify(refusal({ code, message })));
  }
  return undefined;
}

function half(outgoing, content) {
  outgoing.writeHead(200, { "content-type": "application/json" });
  outgoing.end(content.slice(0, content.length / 2));
}

// Who was killed while it was sending has nobody to be answered.
const server = http.createServer((incoming, outgoing) => void served(incoming, outgoing).catch(() => outgoing.destroy()));
server.on("upgrade", upgraded);
for (const signal of ["SIGTERM", "SIGINT"])
  process.on(signal, async () => {
    server.close();
    await stopAll();
    process.exit(0);
  });
server.listen(Number(process.argv[2]), "127.0.0.1");
