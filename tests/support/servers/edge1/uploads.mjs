// The form of an upload, read strictly: its metadata, its modules, its bindings.
import { Buffer } from "node:buffer";

import { filesOf } from "./assets.mjs";
import { checkThere } from "./bindings.mjs";
import { no } from "./refusals.mjs";
import { checkMetadata } from "./request_types.mjs";

const KINDS = {
  "application/javascript+module": "ESModule",
  "application/javascript": "CommonJS",
  "application/wasm": "CompiledWasm",
  "text/plain": "Text",
  "application/octet-stream": "Data",
  "application/source-map": "SourceMap",
};
const LARGEST = 64 << 20;
const LARGEST_TEXT = 5 * 1024;
const MOST_BINDINGS = 128;
const VARIABLES = ["plain_text", "secret_text"];

// `classes` are those of the Worker after the migrations of the upload.
export async function readUpload(request, account, name, { isVersion, migrated }) {
  const form = await formOf(request);
  const metadata = await metadataOf(form);
  checkMetadata(metadata, isVersion);
  const classes = migrated(metadata.migrations);
  const modules = await modulesOf(form);
  if (!modules.some((one) => one.path === metadata.main_module)) no(400, 10021, `No such module: ${metadata.main_module}`);
  modules.sort((one, other) => (other.path === metadata.main_module) - (one.path === metadata.main_module));
  checkBindings(metadata.bindings ?? []);
  checkThere(account, metadata.bindings ?? [], name, classes);
  account.uploads.push(outline(form, metadata));
  return { metadata: { bindings: [], annotations: {}, ...metadata }, modules, classes, files: filesOf(account, metadata.assets) };
}

// How it was made, so that two clients can be compared.
function outline(form, metadata) {
  const files = [...form.entries()].filter(([name]) => name !== "metadata").map(([, value]) => value);
  const isNamedTwice = [...form.entries()].every(([name, value]) => name === "metadata" || value.name === name);
  return { members: Object.keys(metadata).sort(), bindings: metadata.bindings ?? [], assets: metadata.assets?.config, kinds: [...new Set(files.map((one) => one.type))], fields: { isNamedTwice, metadata: typeof form.get("metadata") } };
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
  if (typeof metadata !== "object" || metadata === null) no(400, 10021, "metadata is not an object");
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

function checkBindings(bindings) {
  const names = new Set();
  for (const one of bindings) {
    if (names.has(one.name)) no(400, 10021, `binding ${one.name} is named twice`);
    names.add(one.name);
    if (VARIABLES.includes(one.type)) {
      if (typeof one.text !== "string") no(400, 10021, `binding ${one.name} has no text`);
      if (Buffer.byteLength(one.text) > LARGEST_TEXT) no(400, 10021, `binding ${one.name} is larger than 5 KB`);
    }
  }
  if (bindings.filter((one) => VARIABLES.includes(one.type)).length > MOST_BINDINGS) no(400, 10021, "more than 128 variables");
}
