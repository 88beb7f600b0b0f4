// Uploads in workerd, kept warm: a few at a time, for each is a process.
import { Buffer } from "node:buffer";
import crypto from "node:crypto";
import { createRequire } from "node:module";

import { no, noWorker } from "./refusals.mjs";

const { Miniflare } = createRequire(process.env.WRANGLER_MODULES)("miniflare");
const MOST_WARM = 12;
const warm = [];
// Uploads that began well once do so again.
const good = new Set();

export async function check(account, version) {
  const seen = JSON.stringify([version.metadata.compatibility_date, version.metadata.compatibility_flags, version.modules]);
  const digest = crypto.createHash("sha256").update(seen).digest("hex");
  if (good.has(digest)) return;
  await begun(account, version);
  good.add(digest);
}

async function begun(account, version) {
  const at = warm.indexOf(version);
  if (at >= 0) warm.splice(at, 1);
  warm.push(version);
  version.running ??= start(account, version);
  try {
    await version.running.ready;
  } catch (error) {
    warm.splice(warm.indexOf(version), 1);
    version.running = null;
    no(400, 10021, `Uncaught ${error.message}`); // (docs)
  }
  while (warm.length > MOST_WARM) await stop(warm.shift());
  return version.running.miniflare;
}

async function stop(version) {
  const running = version.running;
  version.running = null;
  await running?.stop();
}

function start(account, version) {
  const lines = (version.lines ??= []);
  let failure = "";
  const miniflare = new Miniflare({
    modules: version.modules,
    compatibilityDate: version.metadata.compatibility_date,
    compatibilityFlags: version.metadata.compatibility_flags ?? [],
    bindings: variables(version.metadata.bindings),
    serviceBindings: services(account, version.metadata.bindings),
    cf: false,
    structuredWorkerdLogs: true,
    handleStructuredLogs: (line) => {
      if (line.level === "error") failure ||= line.message;
      lines.push(line.message);
    },
  });
  const ready = miniflare.ready.catch(async (error) => {
    await miniflare.dispose().catch(() => {});
    throw new Error((failure || String(error.message).split("\n")[0]).replace(/^.*?Uncaught /s, ""));
  });
  return { miniflare, ready, stop: () => miniflare.dispose().catch(() => {}) };
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
  const miniflare = await begun(account, version);
  const isBodiless = !body.length || method === "GET" || method === "HEAD";
  return miniflare.dispatchFetch(url, { method, headers, body: isBodiless ? undefined : body, redirect: "manual" });
}

export async function timed(account, version, cron) {
  const miniflare = await begun(account, version);
  const worker = await miniflare.getWorker();
  return worker.scheduled({ cron, scheduledTime: new Date(0) });
}

export async function stopAll() {
  await Promise.allSettled(warm.map(stop));
}
