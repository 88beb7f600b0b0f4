// Workers, their versions and deployments, their schedules, and where they are met.
import crypto from "node:crypto";

import { hex, now } from "./accounts.mjs";
import { no, noWorker } from "./refusals.mjs";
import { checkThere } from "./bindings.mjs";
import { changed, check, end } from "./running.mjs";
import { readUpload } from "./uploads.mjs";

const scriptOf = (call) => call.account.scripts.get(call.names.script) ?? noWorker();

async function put(call) {
  const { account, names } = call;
  if (!/^[a-z0-9_][a-z0-9-_]*$/.test(names.script) || names.script.length > 63) no(400, 10016, "workers.api.error.invalid_script_name");
  const script = account.scripts.get(names.script) ?? { name: names.script, classes: new Set(), migration: "", next: 1, versions: [], deployments: [], schedules: [], subdomain: { enabled: false, previews_enabled: false }, turns: {} };
  const upload = await readUpload(call, account, names.script, { migrated: (asked) => migrated(script, asked) });
  script.classes = upload.classes;
  script.migration = upload.metadata.migrations?.new_tag ?? script.migration;
  const version = await added(account, script, upload);
  script.observability = upload.metadata.observability;
  account.scripts.set(names.script, script);
  await deploy(account, script, [{ version_id: version.id, percentage: 100 }]);
  return { id: script.name, etag: hex(), handlers: ["fetch"], startup_time_ms: 5, created_on: version.created, modified_on: version.created, deployment_id: version.id, has_modules: true, available_on_subdomain: script.subdomain.enabled };
}

async function addVersion(call) {
  const script = scriptOf(call);
  const version = await added(call.account, script, await readUpload(call, call.account, script.name, { isVersion: true, migrated: (asked) => (asked ? no(400, 10211, "migrations must be fully applied by a non-versioned deployment") : script.classes) }));
  return { ...shown(version), startup_time_ms: 5 };
}

async function added(account, script, upload) {
  const version = { id: crypto.randomUUID(), number: script.next++, created: now(), worker: script.name, migration: script.migration, ...upload };
  await check(account, version);
  script.versions.unshift(version);
  return version;
}

// The classes after the steps of an upload.
function migrated(script, asked) {
  const classes = new Set(script.classes);
  if (!asked) return classes;
  if ((asked.old_tag ?? "") !== script.migration) no(412, 10079, `the migration tag of the Worker is '${script.migration}', not '${asked.old_tag ?? ""}'`);
  const { old_tag: _, new_tag: __, steps, ...flat } = asked;
  for (const step of steps ?? [flat]) {
    for (const name of [...(step.new_sqlite_classes ?? []), ...(step.new_classes ?? [])]) {
      if (classes.has(name)) no(400, 10074, `Cannot apply new-class migration to class '${name}' that is already depended on.`);
      classes.add(name);
    }
    for (const { from, to } of step.renamed_classes ?? []) {
      if (!classes.delete(from)) no(400, 10062, `the class '${from}' does not exist`);
      classes.add(to);
    }
    for (const name of step.deleted_classes ?? []) if (!classes.delete(name)) no(400, 10062, `the class '${name}' does not exist`);
  }
  return classes;
}

async function deploy(account, script, versions) {
  if (!Array.isArray(versions) || versions.length < 1 || versions.length > 2) no(400, 10021, "a deployment has one or two versions");
  const total = versions.reduce((sum, one) => sum + one.percentage, 0);
  if (total !== 100 || versions.some((one) => !(one.percentage >= 0))) no(400, 10021, `percentages must add up to 100, not ${total}`);
  for (const one of versions) if (!script.versions.some((known) => known.id === one.version_id)) no(404, 10021, `version ${one.version_id} is not known`);
  for (const one of versions) {
    const { migration, metadata } = script.versions.find((known) => known.id === one.version_id);
    if (migration !== script.migration) no(400, 10220, `version ${one.version_id} is from before the migration '${script.migration}'`);
    checkThere(account, metadata.bindings, script.name, script.classes);
  }
  const made = { id: crypto.randomUUID(), created_on: now(), source: "api", strategy: "percentage", versions, annotations: {} };
  script.deployments.unshift(made);
  script.turns = {};
  await changed(account, script);
  return made;
}

function addDeployment(call) {
  const script = scriptOf(call);
  const asked = call.json();
  if (asked.strategy !== "percentage") no(400, 10021, "strategy must be percentage");
  return deploy(call.account, script, asked.versions);
}

function row(version) {
  return { id: version.id, number: version.number, metadata: { created_on: version.created, source: "api", hasPreview: false }, annotations: version.metadata.annotations };
}

function shown(version) {
  const { bindings, compatibility_date, compatibility_flags } = version.metadata;
  const hidden = bindings.map((one) => (one.type === "secret_text" ? { name: one.name, type: one.type } : one));
  return { ...row(version), resources: { bindings: hidden, script: { handlers: ["fetch"] }, script_runtime: { compatibility_date, compatibility_flags, usage_model: "standard" } } };
}

function listVersions(call) {
  const rows = scriptOf(call).versions.map(row);
  if (call.query.get("deployable") === "true") return { items: rows.slice(0, 100) };
  const page = Number(call.query.get("page") ?? 1);
  const size = Number(call.query.get("per_page") ?? 20);
  return { items: rows.slice((page - 1) * size, page * size) };
}

function oneVersion(call) {
  const found = scriptOf(call).versions.find((one) => one.id === call.names.version);
  return found ? shown(found) : no(404, 10021, "version not found");
}

function setSchedules(call) {
  const script = scriptOf(call);
  const rows = call.json();
  if (!Array.isArray(rows)) no(400, 10021, "schedules are a list");
  for (const one of rows) if (!isCron(String(one.cron ?? ""))) no(400, 10100, `invalid cron string: ${one.cron}`);
  if (new Set(rows.map((one) => one.cron)).size !== rows.length) no(400, 10101, "a schedule is named twice");
  script.schedules = rows.map(({ cron }) => ({ cron, created_on: now(), modified_on: now() }));
  return { schedules: script.schedules };
}

const CRON_FIELDS = [/^[\d*,/-]+$/, /^[\d*,/-]+$/, /^[\d*,/LW-]+$/, /^[\d*,/A-Z-]+$/i, /^[\d*,/A-Z#-]+$/i];

function isCron(text) {
  const fields = text.split(" ");
  return fields.length === 5 && fields.every((one, place) => CRON_FIELDS[place].test(one)) && !/(^|[^#])\b[08]/.test(fields[4]);
}

function setSubdomain(call) {
  const script = scriptOf(call);
  const { enabled, previews_enabled = enabled } = call.json();
  if (typeof enabled !== "boolean") no(400, 10021, "enabled must be true or false");
  script.subdomain = { enabled, previews_enabled };
  return script.subdomain;
}

async function remove(call) {
  const script = scriptOf(call);
  const isBound = [...call.account.scripts.values()].some((one) => one !== script && one.versions[0].metadata.bindings.some((bound) => bound.type === "service" && bound.service === script.name));
  if (isBound && call.query.get("force") !== "true") no(400, 10064, "this Worker is the target of a service binding; use force");
  await end(script);
  call.account.scripts.delete(script.name);
  call.account.world?.change();
  return null;
}

// What wrangler asks for besides.
const OF_SCRIPTS = { logpush: false, tags: [], tail_consumers: [], observability: { enabled: true } };

function service(call) {
  const script = call.account.scripts.get(call.names.script) ?? no(404, 10090, "workers.api.error.service_not_found"); // (docs)
  return { id: script.name, default_environment: { environment: "production", script: { last_deployed_from: "api", ...(script.migration ? { migration_tag: script.migration } : {}) } } };
}

function settings(call) {
  const { resources } = shown(scriptOf(call).versions[0]);
  return { ...OF_SCRIPTS, bindings: resources.bindings, ...resources.script_runtime };
}

const WORKERS = "/accounts/:account/workers";
const SCRIPT = `${WORKERS}/scripts/:script`;

export const scriptCalls = [
  ["GET", `${WORKERS}/subdomain`, ({ account }) => (account.subdomain ? { subdomain: account.subdomain } : no(404, 10007, "workers.api.error.subdomain_not_found"))],
  ["GET", `${WORKERS}/scripts`, ({ account }) => [...account.scripts.values()].map((one) => ({ id: one.name, modified_on: one.versions[0].created }))],
  ["GET", `${WORKERS}/services/:script`, service],
  ["PUT", SCRIPT, put],
  ["DELETE", SCRIPT, remove],
  ["GET", `${SCRIPT}/versions`, listVersions],
  ["POST", `${SCRIPT}/versions`, addVersion],
  ["GET", `${SCRIPT}/versions/:version`, oneVersion],
  ["GET", `${SCRIPT}/deployments`, (call) => ({ deployments: scriptOf(call).deployments.slice(0, 10) })],
  ["POST", `${SCRIPT}/deployments`, addDeployment],
  ["GET", `${SCRIPT}/subdomain`, (call) => scriptOf(call).subdomain],
  ["POST", `${SCRIPT}/subdomain`, setSubdomain],
  ["GET", `${SCRIPT}/settings`, settings],
  ["GET", `${SCRIPT}/script-settings`, () => OF_SCRIPTS],
  ["PATCH", `${SCRIPT}/script-settings`, (call) => ({ ...OF_SCRIPTS, ...call.json() })],
  ["GET", `${SCRIPT}/schedules`, (call) => ({ schedules: scriptOf(call).schedules })],
  ["PUT", `${SCRIPT}/schedules`, setSchedules],
];
