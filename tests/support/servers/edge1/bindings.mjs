// Bindings of uploads: that what they name is there, and as options of the runtime.
import { assetsOf } from "./assets.mjs";
import { no } from "./refusals.mjs";
import { queueNamed } from "./resources.mjs";

const of = (bindings, type) => bindings.filter((one) => one.type === type);
const named = (rows, act) => Object.fromEntries(rows.map((one) => [one.name, act(one)]));
const RESOURCES = ["kv_namespace", "r2_bucket", "d1", "queue", "durable_object_namespace", "ratelimit", "analytics_engine"];

// Versions with these share one runtime, so that they share what is stored.
export function isShared(account, version) {
  const reads = [...account.queues.values()].some((one) => one.consumers.some((reader) => reader.script_name === version.worker));
  return reads || version.metadata.bindings.some((one) => RESOURCES.includes(one.type));
}

const THERE = {
  kv_namespace: (account, one) => account.namespaces.has(one.namespace_id) || no(400, 10041, `KV namespace '${one.namespace_id}' not found.`),
  r2_bucket: (account, one) => account.buckets.has(`${one.jurisdiction ?? "default"}/${one.bucket_name}`) || no(400, 10085, `R2 bucket '${one.bucket_name}' not found.`),
  d1: (account, one) => account.databases.has(one.id ?? one.database_id) || no(400, 10181, `D1 binding '${one.name}' references database '${one.id}' which was not found.`),
  queue: (account, one) => queueNamed(account, one.queue_name) || no(400, 11000, `Queue '${one.queue_name}' not found.`),
  service: (account, one, own) => one.service === own || account.scripts.has(one.service) || no(400, 10143, `Service binding '${one.name}' references Worker '${one.service}' which was not found.`),
  durable_object_namespace: (account, one, own, classes) => hasClass(account, one, own, classes) || no(400, 10123, `Cannot apply binding '${one.name}': the class '${one.class_name}' of '${one.script_name ?? own}' does not exist.`), // (docs)
};

function hasClass(account, one, own, classes) {
  const isOwn = !one.script_name || one.script_name === own;
  return (isOwn ? classes : account.scripts.get(one.script_name)?.classes)?.has(one.class_name);
}

export function checkThere(account, bindings, own, classes) {
  for (const one of bindings) THERE[one.type]?.(account, one, own, classes);
}

// `entry` names the running version of a Worker; none for an upload that is only tried.
export function optionsOf(version, entry) {
  const { bindings } = version.metadata;
  const objects = of(bindings, "durable_object_namespace").filter((one) => entry || !one.script_name || one.script_name === version.worker);
  return {
    ...assetsOf(version),
    kvNamespaces: named(of(bindings, "kv_namespace"), (one) => one.namespace_id),
    r2Buckets: named(of(bindings, "r2_bucket"), (one) => one.bucket_name),
    d1Databases: named(of(bindings, "d1"), (one) => one.id ?? one.database_id),
    queueProducers: named(of(bindings, "queue"), (one) => ({ queueName: one.queue_name, ...(one.delivery_delay ? { deliveryDelay: one.delivery_delay } : {}) })),
    ratelimits: named(of(bindings, "ratelimit"), (one) => ({ simple: one.simple })),
    analyticsEngineDatasets: named(of(bindings, "analytics_engine"), (one) => ({ dataset: one.dataset })),
    durableObjects: named(objects, (one) => objectOf(version, one, entry)),
  };
}

function objectOf(version, one, entry) {
  const script = one.script_name ?? version.worker;
  const place = entry && script !== version.worker ? { scriptName: entry(script) } : {};
  // Storage belongs to the class of a Worker, and not to one of its versions.
  return { className: one.class_name, useSQLite: true, unsafeUniqueKey: `${script}-${one.class_name}`, ...place };
}
