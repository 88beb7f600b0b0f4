// The warm child: answers build requests, one JSON document a line, many at a time.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

import { Batches } from "./batches.mjs";
import { decorators } from "./decorators.mjs";

const bundlers = new Map();

function withPlugins({ decorators: asked, layered, ...options }) {
  const plugins = [...(asked ? [decorators(asked)] : []), ...(layered ? [layerPackages(layered)] : [])];
  return plugins.length ? { ...options, plugins } : options;
}

/** Node finds packages of layers by NODE_PATH, which only `require` reads: imports of them become calls of it. */
function layerPackages(names) {
  const namespace = "fabric-layer";
  const filter = new RegExp(`^(?:${names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})(?:/|$)`);
  const resolved = ({ path, kind }) =>
    kind === "import-statement" || kind === "dynamic-import" ? { path, namespace } : { path, external: true };
  const load = ({ path }) => ({ contents: `module.exports = require(${JSON.stringify(path)});`, loader: "js" });
  return {
    name: namespace,
    setup(build) {
      build.onResolve({ filter }, resolved);
      build.onLoad({ filter: /./, namespace }, load);
    },
  };
}

function bundlerAt(folder) {
  if (!bundlers.has(folder)) {
    const real = createRequire(`${folder}/package.json`)(folder);
    bundlers.set(folder, { version: real.version, build: (options) => real.build(withPlugins(options)) });
  }
  return bundlers.get(folder);
}

function finding({ text, location, notes = [] }) {
  const place = location && {
    file: location.file,
    line: location.line,
    column: location.column + 1,
    frame: location.lineText,
  };
  return { text, place, notes: notes.map((note) => note.text) };
}

const batches = new Batches();

async function build({ bundler: folder, options }) {
  try {
    const { files, exports = [], warnings, ...found } = await batches.ask({ bundler: bundlerAt(folder), folder, options });
    return {
      ok: true,
      files: files.map(({ path, contents }) => ({ path, text: Buffer.from(contents).toString("base64") })),
      ...found,
      exports,
      warnings: warnings.map(finding),
    };
  } catch (error) {
    const errors = error.errors ?? [{ text: String(error?.message ?? error) }];
    return { ok: false, errors: errors.map(finding) };
  }
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const request = JSON.parse(line);
  const answer = await build(request);
  process.stdout.write(`${JSON.stringify({ id: request.id, ...answer })}\n`);
});
// Bundlers keep a child of their own: it must not keep this one alive once nobody asks any more.
process.stdin.on("end", () => process.exit(0));
