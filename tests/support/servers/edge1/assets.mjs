// Static files of Workers: sessions of uploads, and the files of a version as a directory.
import { Buffer } from "node:buffer";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { hex } from "./accounts.mjs";
import { no } from "./refusals.mjs";

const LARGEST_BUCKET = 2;

function begin(call) {
  const { manifest } = call.json();
  const rows = Object.entries(manifest ?? no(400, 10021, "the manifest is missing"));
  for (const [path, one] of rows)
    if (!path.startsWith("/") || !/^[0-9a-f]{32}$/.test(one.hash ?? "") || !Number.isInteger(one.size)) no(400, 10021, `the entry ${path} does not fit`);
  const { files, sessions } = call.account.assets;
  const missing = [...new Set(rows.map(([, one]) => one.hash))].filter((hash) => !files.has(hash));
  const jwt = `jwt-${hex()}`;
  sessions.set(jwt, { manifest, missing: new Set(missing), isDone: !missing.length });
  const buckets = [];
  for (let at = 0; at < missing.length; at += LARGEST_BUCKET) buckets.push(missing.slice(at, at + LARGEST_BUCKET));
  return { jwt, buckets };
}

async function add(call) {
  const { files, sessions } = call.account.assets;
  const session = sessions.get(call.headers.authorization.replace(/^Bearer /, "")) ?? no(401, 10000, "the session is not known");
  if (call.query.get("base64") !== "true") no(400, 10021, "base64=true is missing");
  const form = await new Response(call.body, { headers: { "content-type": call.type } }).formData();
  for (const [hash, file] of form.entries()) {
    if (!session.missing.delete(hash)) no(400, 10021, `the file ${hash} is not in the manifest`);
    files.set(hash, { content: Buffer.from(await file.text(), "base64"), type: file.type });
  }
  if (session.missing.size) return { jwt: null };
  const jwt = `jwt-${hex()}`;
  sessions.set(jwt, { ...session, isDone: true });
  return { jwt };
}

// The files of an upload that names a completed session.
export function filesOf(account, asked) {
  if (!asked) return null;
  const session = account.assets.sessions.get(asked.jwt);
  if (!session?.isDone) no(400, 10021, "the upload of the static files is not complete");
  const known = new Set(["html_handling", "not_found_handling", "run_worker_first", "_headers", "_redirects"]);
  for (const key of Object.keys(asked.config ?? {})) if (!known.has(key)) no(400, 10021, `assets.config has the unknown member ${key}`);
  const directory = mkdtempSync(join(tmpdir(), "edge1-assets-"));
  for (const [path, { hash }] of Object.entries(session.manifest)) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, account.assets.files.get(hash).content);
  }
  return { directory, config: asked.config ?? {} };
}

// Options of the runtime.
export function assetsOf({ files, metadata }) {
  if (!files) return {};
  const { run_worker_first: first, html_handling, not_found_handling } = files.config;
  const binding = metadata.bindings.find((one) => one.type === "assets")?.name;
  const routerConfig = { has_user_worker: true, invoke_user_worker_ahead_of_assets: first === true };
  return { assets: { directory: files.directory, binding, routerConfig, assetConfig: { html_handling, not_found_handling } } };
}

const WORKERS = "/accounts/:account/workers";

export const assetCalls = [
  ["POST", `${WORKERS}/scripts/:script/assets-upload-session`, begin],
  ["POST", `${WORKERS}/assets/upload`, add],
];
