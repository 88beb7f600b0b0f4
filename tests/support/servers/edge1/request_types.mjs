// Bodies against the request types of Cloudflare's own SDK. What the official command line sends
// besides is written below.
import { readFileSync } from "node:fs";

import { no } from "./refusals.mjs";

const { types } = JSON.parse(readFileSync(new URL("request-types.json", import.meta.url)));
const NUMBERS = { int: "number", float: "number", str: "string", bool: "boolean" };
// wrangler sends these, and the SDK does not know them.
const BESIDES = { queue: ["delivery_delay"], inherit: [] };
const BESIDES_OF_VERSIONS = ["placement", "tail_consumers", "limits", "observability", "migrations", "assets"];

export function checkBody(name, body) {
  const why = misfit({ ref: name }, body, "the body");
  if (why) no(400, 10021, why);
}

export function checkMetadata(metadata, isVersion) {
  const name = isVersion ? "version_create.Metadata" : "script_update.Metadata";
  const known = { ...types[name] };
  for (const key of Object.keys(metadata))
    if (!(key in known) && !(isVersion && BESIDES_OF_VERSIONS.includes(key))) no(400, 10021, `metadata has the unknown member ${key}`);
  const { bindings = [], ...rest } = metadata;
  for (const [key, value] of Object.entries(rest)) {
    const why = known[key] && misfit(known[key], value, `metadata.${key}`);
    if (why) no(400, 10021, why);
  }
  const kinds = known.bindings.list.one_of.map((one) => types[one.ref]);
  for (const one of bindings) checkBinding(kinds, one);
}

function checkBinding(kinds, binding) {
  const kind = kinds.find((one) => one.type?.enum?.includes(binding.type));
  if (!kind) no(400, 10021, `binding ${binding.name} has the unknown type ${binding.type}`);
  const rest = Object.fromEntries(Object.entries(binding).filter(([key]) => !(BESIDES[binding.type] ?? []).includes(key)));
  // Either name of the id will do.
  const named = binding.type === "d1" && binding.id ? { ...rest, database_id: binding.id } : rest;
  const why = misfit({ fields: kind }, named, `binding ${binding.name}`);
  if (why) no(400, 10021, why);
}

function misfit(type, value, path) {
  if (type.one_of) return type.one_of.every((one) => misfit(one, value, path)) ? `${path} fits none of its types` : "";
  if (type.ref) return types[type.ref] ? misfit({ fields: types[type.ref] }, value, path) : "";
  if (type.fields) return misfitOfFields(type.fields, value, path);
  if (type.enum) return type.enum.includes(value) ? "" : `${path} is ${JSON.stringify(value)}, which is none of ${type.enum.join(", ")}`;
  if (type.list) return Array.isArray(value) ? (value.map((one, place) => misfit(type.list, one, `${path}[${place}]`)).find(Boolean) ?? "") : `${path} is not a list`;
  if (type.type in NUMBERS) return typeof value === NUMBERS[type.type] ? "" : `${path} is not a ${NUMBERS[type.type]}`;
  return "";
}

function misfitOfFields(fields, value, path) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return `${path} is not an object`;
  const unknown = Object.keys(value).find((key) => !(key in fields));
  if (unknown) return `${path} has the unknown member ${unknown}`;
  const missing = Object.entries(fields).find(([key, type]) => !type.optional && !(key in value));
  if (missing) return `${path} lacks the member ${missing[0]}`;
  return Object.entries(value).map(([key, one]) => misfit(fields[key], one, `${path}.${key}`)).find(Boolean) ?? "";
}
