// Which export a handler is, and by which convention it is called.
//
// In order: an object says it by its methods; the names of parameters say it, where they can be read;
// else `handler` takes events, and any other export is called as the provider calls its own.
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { isListener } from "./listener.mjs";
import { isWorker } from "./worker.mjs";

const METHODS = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]);
const EVENTS = new Set(["event", "evt"]);
const REQUESTS = new Set(["req", "request"]);
const RESPONSES = new Set(["res", "resp", "response", "reply"]);
const CONTEXTS = new Set(["context", "ctx"]);
const CLOUD_EVENTS = new Set(["cloudevent", "ce"]);

export async function load({ folder, module, name, names = ["default"], methods = [], convention = "event" }) {
  const file = [".js", ".mjs", ".cjs"].map((end) => `${folder}/${module}${end}`).find(existsSync);
  if (!file) throw new Error(`the archive has no module ${module}`);
  const exports = membersOf(await import(pathToFileURL(file).href));
  const asked = named(exports, name, names);
  const found = exports[asked] ?? (asked === "handler" ? exports.default : undefined);
  const isServer = convention === "request-response" && isListener(found);
  if (typeof found !== "function" && !isServer && !methods.some((one) => typeof found?.[one] === "function")) {
    throw new TypeError(`${module} does not export the function ${name}${hintOf(found, methods)}`);
  }
  return { found, exports, name: asked };
}

// A CommonJS module comes as its default export: its own names count as well.
function membersOf(namespace) {
  const whole = namespace.default;
  const isModule = whole !== null && ["object", "function"].includes(typeof whole);
  const isBundled = isModule && whole.__esModule;
  return { ...(isModule ? whole : {}), ...namespace, ...(isBundled ? { default: whole.default } : {}) };
}

// `handler` may be there in place of another export, so that providers find it.
function named(exports, name, names) {
  if (name !== "handler") return name;
  const same = (other) => exports[other] !== undefined && (exports.handler === undefined || exports[other] === exports.handler);
  return names.find(same) ?? name;
}

function hintOf(found, methods) {
  if (typeof found !== "object" || found === null) return "";
  return `: it is an object, and this provider calls functions${methods.length ? `, or objects with ${methods.join(", ")}` : ""}`;
}

export function conventionOf({ found, name }, own) {
  if (isWorker(found)) return own === "worker" ? own : "web";
  if (own === "request-response" && METHODS.has(name)) return "methods";
  if (typeof found !== "function") return own;
  // A plain function is no worker.
  if (own === "worker") return "event";
  const said = BY_PARAMETERS[own]?.(parametersOf(found), found) ?? (name === "handler" ? "event" : own);
  return own === "raw-event" && said === "event" ? "readable-event" : said;
}

const BY_PARAMETERS = {
  "cloud-event": ([first, second], found) => {
    if (RESPONSES.has(second)) return "request-response";
    if (CLOUD_EVENTS.has(first)) return "cloud-event";
    return found.length > 1 ? "event" : undefined;
  },
  "context-first": ([first, second]) => (CONTEXTS.has(first) || REQUESTS.has(second) ? "context-first" : ofEvents(first)),
  "request-response": ([first, second]) => (RESPONSES.has(second) || REQUESTS.has(first) ? "request-response" : ofEvents(first)),
  web: ([first]) => (REQUESTS.has(first) ? "web" : ofEvents(first)),
};

function ofEvents(first) {
  return EVENTS.has(first) ? "event" : undefined;
}

// The names as they stand in the code, without what a bundler put behind and a writer before them.
function parametersOf(found) {
  const text = Function.prototype.toString.call(found);
  const list = /^(?:async\b)?\s*(?:function\b)?\s*\*?\s*[\w$]*\s*\(([^()]*)\)/.exec(text)?.[1];
  const only = /^(?:async\s+)?([\w$]+)\s*=>/.exec(text)?.[1];
  const flat = (only ?? list ?? "").replace(/\{[^{}]*\}/g, "{}");
  return flat.split(",").map((one) => one.trim().replace(/[\s=].*$/s, "").replace(/^_+|\d+$/g, "").toLowerCase());
}
