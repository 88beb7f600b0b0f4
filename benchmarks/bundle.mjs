// The peer of a cold build: one warm esbuild service, all builds at once; or one call for all.
import { createRequire } from "node:module";

const [, , folder, mode, count] = process.argv;
const { build } = createRequire(`${folder}/package.json`)(folder);
const names = Array.from({ length: Number(count) }, (_, number) => `fn_${number}`);
const options = {
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  resolveExtensions: [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json"],
  mainFields: ["module", "main"],
};

if (mode === "once") {
  await build({ ...options, entryPoints: names.map((name) => `./src/${name}.ts`), outdir: "out" });
} else {
  await Promise.all(
    names.map((name) => build({ ...options, entryPoints: [`./src/${name}.ts`], outfile: `out/${name}.js` })),
  );
}
