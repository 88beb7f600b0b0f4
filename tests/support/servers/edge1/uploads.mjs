// The form of an upload, read strictly: its metadata, its modules, its bindings.
import { Buffer } from "node:buffer";

import { no } from "./refusals.mjs";

const KINDS = {
  "application/javascript+module": "ESModule",
  "application/javascript": "CommonJS",
  "application/wasm": "CompiledWasm",
  "text/plain": "Text",
  "application/octet-stream": "Data",
  "application/source-map": "SourceMap",
};
const KNOWN = new Set(["main_module", "compatibility_date", "compatibility_flags", "bindings", "observability", "annotations", "keep_bindings", "tags", "usage_model", "logpush", "tail_consumers", "placement", "limits", "keep_assets", "migrations", "containers"]);
const LARGEST = 64 << 20;
const LARGEST_TEXT = 5 * 1024;
const MOST_BINDINGS = 128;
const VARIABLES = ["plain_text", "secret_text"];

export async function readUpload(request, account, name) {
  const form = await formOf(request);
  const metadata = await metadataOf(form);
  const modules = await modulesOf(form);
  if (!modules.some((one) => one.path === metadata.main_module)) no(400, 10021, `No such module: ${metadata.main_module}`);
  modules.sort((one, other) => (other.path === metadata.main_module) - (one.path === metadata.main_module));
  checkBindings(metadata.bindings ?? [], account, name);
  account.uploads.push(outline(form, metadata));
  return { metadata: { bindings: [], annotations: {}, ...metadata }, modules };
}

// How it was made, so that two clients can be compared.
function outline(form, metadata) {
  const files = [...form.entries()].filter(([name]) => name !== "metadata").map(([, value]) => value);
  const isNamedTwice = [...form.entries()].every(([name, value]) => name === "metadata" || value.name === name);
  return { members: Object.keys(metadata).sort(), bindings: metadata.bindings ?? [], kinds: [...new Set(files.map((one) => one.type))], fields: { isNamedTwice, metadata: typeof form.get("metadata") } };
}

async function formOf({ body, type }) {
  try {
    return await new Response(body, { headers: { "content-type": type } }).formData();
  } catch {
    return no(400, 10001, "the body is not multipart/form-data");
  }
}

async function metadataOf(form) {
  const part = form.get("metadata");
  if (!part) no(400, 10021, "the metadata part is missing");
  let metadata;
  try {
    metadata = JSON.parse(typeof part === "string" ? part : await part.text());
  } catch {
    no(400, 10021, "metadata is not JSON");
  }
  for (const name of Object.keys(metadata)) if (!KNOWN.has(name)) no(400, 10021, `metadata has the unknown member ${name}`);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(metadata.compatibility_date ?? "")) no(400, 10021, "compatibility_date is no date");
  const tag = metadata.annotations?.["workers/tag"] ?? "";
  if (Buffer.byteLength(tag) > 100) no(400, 10021, "workers/tag is longer than 100 bytes");
  return metadata;
}

async function modulesOf(form) {
  const modules = [];
  let size = 0;
  for (const [path, value] of form.entries()) {
    if (path === "metadata") continue;
    if (typeof value === "string") no(400, 10021, `module ${path} has no filename`);
    const type = KINDS[value.type.split(";")[0]];
    if (!type) no(400, 10021, `module ${path} has the unknown content type ${value.type}`);
    const content = Buffer.from(await value.arrayBuffer());
    size += content.length;
    if (type === "SourceMap") continue;
    const isText = ["ESModule", "CommonJS", "Text"].includes(type);
    modules.push({ type, path, contents: isText ? content.toString() : content });
  }
  if (size > LARGEST) no(413, 10027, "Your Worker exceeded the size limit of 64 MiB."); // (docs)
  return modules;
}

function checkBindings(bindings, account, name) {
  const names = new Set();
  for (const one of bindings) {
    if (names.has(one.name)) no(400, 10021, `binding ${one.name} is named twice`);
    names.add(one.name);
    if (VARIABLES.includes(one.type)) {
      if (typeof one.text !== "string") no(400, 10021, `binding ${one.name} has no text`);
      if (Buffer.byteLength(one.text) > LARGEST_TEXT) no(400, 10021, `binding ${one.name} is larger than 5 KB`);
    } else if (one.type === "service") {
      const isThere = one.service === name || account.scripts.has(one.service);
      if (!isThere) no(400, 10143, `Service binding '${one.name}' references Worker '${one.service}' which was not found.`);
    } else if (one.type !== "json" && one.type !== "version_metadata") {
      no(501, 0, `bindings of the type ${one.type} are not written in this server`);
    }
  }
  if (bindings.filter((one) => VARIABLES.includes(one.type)).length > MOST_BINDINGS) no(400, 10021, "more than 128 variables");
}
