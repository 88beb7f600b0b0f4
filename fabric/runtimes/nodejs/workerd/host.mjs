// Runs the Workers of a service in workerd, with their bindings. Children of all functions call it,
// because two runtimes cannot share what is stored. It ends when the last child has gone.
//
//   node host.mjs SOCKET MINIFLARE
import { Buffer } from "node:buffer";
import { rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const [socket, folder] = process.argv.slice(2);
const { Miniflare } = createRequire(`${folder}/package.json`)(folder);
// A request over a binding meets the static files of a Worker, and one to the Worker does not.
const FRONT = `export default { fetch(request, env) {
  const name = request.headers.get("x-fabric-worker");
  const headers = new Headers(request.headers);
  headers.delete("x-fabric-worker");
  return env[name].fetch(new Request(request, { headers }));
} };`;
const GRACE = 500;
// Lines come over a pipe, a little later than the answer.
const LINES_AFTER = 30;
const present = new Set();
let miniflare;
let known = "";
let described;
let lines = [];
let turn = Promise.resolve();
let ending = setTimeout(end, 10_000);

function inTurn(act) {
  const next = turn.then(act);
  turn = next.catch(() => {});
  return next;
}

// `described` is the service, and `variables` are those of each function.
async function register({ digest, service, variables }) {
  const wanted = JSON.stringify([digest, variables]);
  if (wanted === known) return;
  described = service;
  const workers = [...service.workers, ...(service.objects ? [service.objects] : [])].map((one) => optionsOf(one, variables[one.function] ?? {}));
  const services = Object.fromEntries(workers.map(({ name }) => [name, { name }]));
  workers.unshift({ name: "fabric", modules: true, script: FRONT, compatibilityDate: "2026-01-01", serviceBindings: services });
  const options = { workers, cf: false, structuredWorkerdLogs: true, handleStructuredLogs: heard, ...persisted(service.state) };
  lines = [];
  try {
    if (miniflare) await miniflare.setOptions(options);
    else miniflare = new Miniflare(options);
    await miniflare.ready;
  } catch (error) {
    // What does not start has to start anew.
    await miniflare?.dispose().catch(() => {});
    miniflare = undefined;
    known = "";
    throw new Error(lines[0]?.message ?? String(error.message).split("\n")[0]);
  }
  known = wanted;
}

function persisted(state) {
  return { kvPersist: `${state}/kv`, r2Persist: `${state}/r2`, d1Persist: `${state}/d1`, durableObjectsPersist: `${state}/objects` };
}

const of = (bindings, type) => bindings.filter((one) => one.type === type);
const named = (rows, act) => Object.fromEntries(rows.map((one) => [one.name, act(one)]));

function optionsOf(worker, variables) {
  const { bindings } = worker;
  const there = new Set([...described.workers.map((one) => one.name), described.objects?.name]);
  const objects = of(bindings, "durable_object_namespace").filter((one) => there.has(one.script_name));
  return {
    name: worker.name,
    modules: worker.modules.map(({ type, path, text, base64 }) => ({ type, path, contents: text ?? Buffer.from(base64, "base64") })),
    compatibilityDate: worker.date,
    compatibilityFlags: worker.flags,
    bindings: variables,
    kvNamespaces: named(of(bindings, "kv_namespace"), (one) => one.namespace_id),
    r2Buckets: named(of(bindings, "r2_bucket"), (one) => one.bucket_name),
    d1Databases: named(of(bindings, "d1"), (one) => one.id),
    queueProducers: named(of(bindings, "queue"), (one) => ({ queueName: one.queue_name, ...(one.delivery_delay ? { deliveryDelay: one.delivery_delay } : {}) })),
    queueConsumers: worker.consumers,
    ...assetsOf(worker.assets),
    ratelimits: named(of(bindings, "ratelimit"), (one) => ({ simple: one.simple })),
    analyticsEngineDatasets: named(of(bindings, "analytics_engine"), (one) => ({ dataset: one.dataset })),
    durableObjects: named(objects, (one) => ({ className: one.class_name, useSQLite: true, unsafeUniqueKey: `${one.script_name}-${one.class_name}`, ...(one.script_name === worker.name ? {} : { scriptName: one.script_name }) })),
    serviceBindings: named(of(bindings, "service"), (one) => (there.has(one.service) ? { name: one.service, ...(one.entrypoint ? { entrypoint: one.entrypoint } : {}) } : () => missing(one))),
  };
}

function assetsOf(said) {
  if (!said) return {};
  const { directory, binding, html_handling, not_found_handling, run_worker_first: first } = said;
  const routerConfig = { has_user_worker: true, invoke_user_worker_ahead_of_assets: first === true };
  return { assets: { directory: join(described.root, directory), binding, routerConfig, assetConfig: { html_handling, not_found_handling } } };
}

function missing({ name, service }) {
  const message = `the binding ${name} calls the Worker ${service}, which does not run on this machine`;
  lines.push({ message });
  return new Response(message, { status: 503 });
}

function heard(line) {
  lines.push(line);
  process.stderr.write(`${line.message}\n`);
}

const ACTS = {
  async fetch(_worker, { name, url, method, headers, body }) {
    const isBodiless = method === "GET" || method === "HEAD" || !body;
    const asked = { method, headers: [...headers, ["x-fabric-worker", name]], redirect: "manual", body: isBodiless ? undefined : Buffer.from(body, "base64") };
    const answer = await miniflare.dispatchFetch(url, asked);
    return { status: answer.status, headers: [...answer.headers].filter(([name]) => !name.startsWith("mf-")), body: Buffer.from(await answer.arrayBuffer()).toString("base64") };
  },
  async scheduled(worker, { cron, scheduledTime }) {
    return worker.scheduled({ cron, scheduledTime: new Date(scheduledTime) });
  },
  async queue(worker, { queue, messages }) {
    return worker.queue(queue, messages.map((one) => ({ ...one, timestamp: new Date(one.timestamp) })));
  },
};

async function called({ kind, worker: name, ...given }) {
  const worker = await miniflare.getWorker(name);
  const from = lines.length;
  let answer;
  try {
    answer = { answer: await ACTS[kind](worker, { name, ...given }) };
  } catch (error) {
    answer = { error: { name: error?.name ?? "Error", message: String(error?.message ?? error) } };
  }
  await new Promise((go) => setTimeout(go, LINES_AFTER));
  return { ...answer, lines: lines.slice(from).map((one) => one.message) };
}

async function served(incoming, outgoing) {
  if (incoming.url === "/stay") return stay(incoming, outgoing);
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const given = JSON.parse(Buffer.concat(chunks).toString());
  try {
    const found = incoming.url === "/register" ? await inTurn(() => register(given)) : await called(given);
    outgoing.end(JSON.stringify(found ?? {}));
  } catch (error) {
    outgoing.statusCode = 500;
    outgoing.end(JSON.stringify({ message: String(error?.message ?? error) }));
  }
}

function stay(incoming, outgoing) {
  clearTimeout(ending);
  present.add(outgoing);
  outgoing.writeHead(200).flushHeaders();
  outgoing.on("close", () => {
    present.delete(outgoing);
    if (!present.size) ending = setTimeout(end, GRACE);
  });
}

async function end() {
  // Removes the socket too, at once: later it can be that of another host.
  server.close();
  await turn;
  await miniflare?.dispose().catch(() => {});
  process.exit(0);
}

const server = createServer((incoming, outgoing) => void served(incoming, outgoing).catch(() => outgoing.destroy()));
server.on("error", () => {
  // Somebody else serves it, or has left its socket behind.
  const probe = request({ socketPath: socket, path: "/stay" }, () => process.exit(0));
  probe.on("error", () => {
    rmSync(socket, { force: true });
    server.listen(socket);
  });
  probe.end();
});
server.listen(socket);
