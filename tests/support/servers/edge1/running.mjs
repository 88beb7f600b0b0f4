// Uploads in workerd, kept warm: a few at a time, for each is a process.
import { Buffer } from "node:buffer";
import crypto from "node:crypto";
import { createRequire } from "node:module";

import { isShared, optionsOf } from "./bindings.mjs";
import { no, noWorker } from "./refusals.mjs";
import { hear } from "./tails.mjs";
import { noted } from "./telemetry.mjs";
import { World } from "./world.mjs";

const { Miniflare, Response } = createRequire(process.env.WRANGLER_MODULES)("miniflare");
const MOST_WARM = 12;
const MOST_BEGINNING = 4;
const SAID_AFTER = 30;
const BODILESS = [101, 204, 205, 304];
const warm = new Set();
// Uploads that began well once do so again.
const good = new Set();
const waiting = [];
let beginning = 0;

export async function check(account, version) {
  const seen = JSON.stringify([version.metadata.compatibility_date, version.metadata.compatibility_flags, version.modules, of(version.metadata.bindings)]);
  const digest = crypto.createHash("sha256").update(seen).digest("hex");
  if (good.has(digest)) return;
  await using(account, version, () => {}, true);
  good.add(digest);
}

// Values change without a new start.
function of(bindings) {
  return bindings.filter((one) => !["plain_text", "secret_text", "json"].includes(one.type));
}

// Nobody that is called is stopped meanwhile.
async function using(account, version, act, isTried = false) {
  if (!isTried && isShared(account, version)) return act(await shared(account, version));
  version.uses = (version.uses ?? 0) + 1;
  try {
    version.running ??= begun(account, version);
    return await act(await version.running);
  } finally {
    version.uses -= 1;
    await cooled();
  }
}

async function shared(account, version) {
  account.world ??= new World(account, common);
  const { worker, front } = await account.world.of(version);
  return { dispatchFetch: front, getWorker: () => worker };
}

// Queues deliver to what is met now.
export async function changed(account, script) {
  account.world?.change();
  const isBound = script.versions.some((one) => isShared(account, one));
  if (!isBound) return;
  account.world ??= new World(account, common);
}

async function begun(account, version) {
  while (beginning >= MOST_BEGINNING) await new Promise((go) => waiting.push(go));
  beginning += 1;
  const running = start(account, version);
  try {
    await running.ready;
    warm.add(version);
    return running.miniflare;
  } catch (error) {
    version.running = null;
    return no(400, 10021, `Uncaught ${error.message}`); // (docs)
  } finally {
    beginning -= 1;
    waiting.shift()?.();
  }
}

async function cooled() {
  for (const version of warm) {
    if (warm.size <= MOST_WARM) return;
    if (!version.uses) await stop(version);
  }
}

export async function stop(version) {
  const { running } = version;
  version.running = null;
  warm.delete(version);
  await (await running?.catch(() => null))?.dispose().catch(() => {});
}

function start(account, version) {
  const lines = (version.lines ??= []);
  const said = (version.said ??= []);
  let failure = "";
  const miniflare = new Miniflare({
    ...common(account, version),
    ...optionsOf(version, null),
    cf: false,
    structuredWorkerdLogs: true,
    handleStructuredLogs: (line) => {
      if (line.level === "error") failure ||= line.message;
      lines.push(line.message);
      said.push({ message: [line.message], level: line.level === "info" ? "log" : line.level, timestamp: line.timestamp ?? Date.now() });
    },
  });
  const ready = miniflare.ready.catch(async (error) => {
    await miniflare.dispose().catch(() => {});
    throw new Error((failure || String(error.message).split("\n")[0]).replace(/^.*?Uncaught /s, ""));
  });
  return { miniflare, ready };
}

function common(account, version) {
  return {
    modules: version.modules,
    compatibilityDate: version.metadata.compatibility_date,
    compatibilityFlags: version.metadata.compatibility_flags ?? [],
    bindings: variables(version.metadata.bindings),
    serviceBindings: services(account, version.metadata.bindings),
  };
}

function variables(bindings) {
  const known = bindings.filter((one) => ["plain_text", "secret_text", "json"].includes(one.type));
  return Object.fromEntries(known.map((one) => [one.name, one.type === "json" ? one.json : one.text]));
}

function services(account, bindings) {
  const bound = bindings.filter((one) => one.type === "service");
  return Object.fromEntries(bound.map((one) => [one.name, (request) => passed(account, one.service, request)]));
}

async function passed(account, name, request) {
  const version = chosen(account.scripts.get(name) ?? noWorker());
  const body = Buffer.from(await request.arrayBuffer());
  return answered(account, version, { url: request.url, method: request.method, headers: [...request.headers], body });
}

// A deployment of two versions is shared out in turns, exactly.
export function chosen(script) {
  const shares = script.deployments[0]?.versions ?? [];
  let best = null;
  for (const { version_id: id, percentage } of shares) {
    script.turns[id] = (script.turns[id] ?? 0) + percentage;
    if (!best || script.turns[id] > script.turns[best]) best = id;
  }
  if (!best) noWorker();
  script.turns[best] -= 100;
  return script.versions.find((one) => one.id === best);
}

export async function answered(account, version, { url, method, headers, body }) {
  const isBodiless = !body.length || method === "GET" || method === "HEAD";
  return using(account, version, async (miniflare) => {
    const asked = { method, headers, body: isBodiless ? undefined : body, redirect: "manual" };
    const { result: answer, failure } = await observed(account, version, { request: { url, method } }, () => miniflare.dispatchFetch(url, asked));
    if (failure) throw failure;
    const content = Buffer.from(await answer.arrayBuffer());
    return new Response(BODILESS.includes(answer.status) ? null : content, { status: answer.status, headers: answer.headers });
  });
}

export async function timed(account, version, cron) {
  return using(account, version, async (miniflare) => {
    const worker = await miniflare.getWorker();
    const { result, failure } = await observed(account, version, { cron, scheduledTime: 0 }, () => worker.scheduled({ cron, scheduledTime: new Date(0) }));
    if (failure) throw failure;
    return result;
  });
}

// Its lines come over a pipe, a little later than its answer.
async function observed(account, version, event, act) {
  const [begun, from] = [Date.now(), version.said?.length ?? 0];
  let [result, failure] = [null, null];
  try {
    result = await act();
  } catch (error) {
    failure = error;
  }
  const wallTime = Date.now() - begun;
  const isGood = !failure && result.outcome !== "exception";
  const response = event.request && result ? { response: { status: result.status } } : {};
  const exceptions = isGood ? [] : [{ name: failure?.name ?? "Error", message: failure?.message ?? "it failed", timestamp: Date.now() }];
  setTimeout(() => {
    const logs = (version.said ?? []).slice(from);
    hear(account, noted(account, version.worker, version, { outcome: isGood ? "ok" : "exception", logs, exceptions, wallTime, event: { ...event, ...response } }));
  }, SAID_AFTER);
  return { result, failure };
}

export async function end(script) {
  await Promise.allSettled(script.versions.map(stop));
}

export async function stopAll() {
  await Promise.allSettled([...warm].map(stop));
}
