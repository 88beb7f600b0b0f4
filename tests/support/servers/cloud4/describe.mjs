// What cloud4's own SDK says of its interface, as one document: of each operation its method, its path,
// and what may be in its query and its body, what has to be there; and what a trigger's config may say.
//
//   node describe.mjs <folder of node_modules> > described.json
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const folder = process.argv[2];
const require = createRequire(join(folder, "x.js"));
const sdk = join(folder, "@alicloud", "fc20230330");
const models = require(join(sdk, "dist", "models", "model.js"));
const text = readFileSync(join(sdk, "src", "client.ts"), "utf8");
const KINDS = { string: { type: "string" }, number: { type: "number" }, boolean: { type: "boolean" }, any: {}, "{ [key: string]: any }": { type: "object" } };

// As a JSON schema in which nothing is allowed that is not named.
function schemaOf(type) {
  if (typeof type === "string") return KINDS[type] ?? {};
  if (typeof type === "function") return objectOf(type);
  if (type?.type === "array") return { type: "array", items: schemaOf(type.itemType) };
  if (type?.type === "map") return { type: "object", additionalProperties: schemaOf(type.valueType) };
  return {};
}

function objectOf(model) {
  const names = model.names();
  const types = model.types();
  const needed = requiredOf(model.name);
  const properties = Object.fromEntries(Object.keys(names).map((one) => [names[one], schemaOf(types[one])]));
  return { type: "object", properties, required: Object.keys(names).filter((one) => needed.has(one)).map((one) => names[one]), additionalProperties: false };
}

// Nothing but the words before a field say that it has to be there.
function requiredOf(name) {
  const source = readFileSync(join(sdk, "src", "models", `${fileOf(name)}.ts`), "utf8");
  const found = source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(\w+)\?:/g);
  return new Set([...found].filter(([, words]) => words.includes("This parameter is required")).map(([, , field]) => field));
}

// Files are named after their models, in letters that are small after a row of large ones.
function fileOf(name) {
  const all = require("node:fs").readdirSync(join(sdk, "src", "models")).map((one) => one.replace(/\.ts$/, ""));
  return all.find((one) => one === name) ?? all.find((one) => one.toLowerCase() === name.toLowerCase());
}

function operations() {
  const found = {};
  for (const [, head, body] of text.matchAll(/async \w+WithOptions\(([^)]*)\)[^{]*\{([\s\S]*?)\n  \}/g)) {
    const action = body.match(/action: "(\w+)"/)?.[1];
    const method = body.match(/method: "(\w+)"/)[1];
    const path = body.match(/pathname: `([^`]*)`/)[1].replaceAll(/\$\{\$dara\.URL\.percentEncode\((\w+)\)\}/g, "{$1}");
    const query = [...body.matchAll(/query\["(\w+)"\]/g)].map((one) => one[1]);
    const headers = [...body.matchAll(/realHeaders\["([\w-]+)"\]/g)].map((one) => one[1]);
    const request = head.match(/\$_model\.(\w+Request)\b/)?.[1];
    const input = request && models[request]?.types().body;
    const hasBody = body.includes("body: OpenApiUtil.parseToMap(request.body)");
    found[action] = { method, path, query: [...new Set(query)], headers, body: hasBody ? schemaOf(input) : null, isRaw: body.includes("stream: request.body") };
  }
  return found;
}

const triggers = { http: objectOf(models.HTTPTriggerConfig), timer: objectOf(models.TimerTriggerConfig) };
console.log(JSON.stringify({ operations: operations(), triggers }, null, 1));
