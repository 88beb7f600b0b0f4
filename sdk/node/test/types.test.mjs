// The types, as a project in TypeScript sees them from both kinds of modules.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const TYPESCRIPT = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const FLAGS = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"];

for (const file of ["types/module.mts", "types/required.cts"]) {
  test(`${file} compiles`, () => {
    const path = fileURLToPath(new URL(file, import.meta.url));
    const done = spawnSync(process.execPath, [TYPESCRIPT, ...FLAGS, path], { encoding: "utf8" });
    assert.equal(done.stdout + done.stderr, "");
    assert.equal(done.status, 0);
  });
}
