// What cloud4's runtime loads first; all of fabric's own lies below `_fabric`.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

const said = JSON.parse(readFileSync(join(__dirname, "_fabric", "said.json"), "utf8"));
const own = pathToFileURL(join(__dirname, "_fabric", "invocations.mjs"));
// Begun before the first call: to begin has a time of its own.
const answered = import(own).then(({ invoked }) => invoked(pathToFileURL(join(__dirname, "/")), said));
answered.catch(() => {});

exports.handler = (event, context, callback) => {
  answered.then((answer) => answer(event)).then(
    (answer) => callback(null, answer),
    (error) => callback(error instanceof Error ? error : new Error(String(error))),
  );
};
