// What OpenWhisk's runtime loads first; all of fabric's own lies below `_fabric`.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

const said = JSON.parse(readFileSync(join(__dirname, "_fabric", "said.json"), "utf8"));
const own = pathToFileURL(join(__dirname, "_fabric", "activations.mjs"));
let answered;

exports.main = async (given) => {
  answered ??= import(own).then(({ activated }) => activated(pathToFileURL(join(__dirname, "/")), said));
  return (await answered)(given ?? {});
};
