// What OpenWhisk's runtime loads first; all of fabric's own lies below `_fabric`.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

const said = JSON.parse(readFileSync(join(__dirname, "_fabric", "said.json"), "utf8"));
const own = pathToFileURL(join(__dirname, "_fabric", "activations.mjs"));
// Begun before the first call: to begin has a time of its own.
const answered = import(own).then(({ activated }) => activated(pathToFileURL(join(__dirname, "/")), said));
answered.catch(() => {});

exports.main = async (given) => (await answered)(given ?? {});
