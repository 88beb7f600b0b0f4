// What host1's own packages say of its interface, as one document: of each operation its method, its
// path, and what may be in its query, its headers and its body; what the client sends besides; and
// what a build's output may say of routes and of functions.
//
//   node describe.mjs <folder of node_modules> > described.json
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const require = createRequire(join(folder, "x.js"));
const sdk = join(folder, "@vercel", "sdk", "esm");
const client = join(folder, "@vercel", "client", "dist");
const utils = join(folder, "@vercel", "build-utils", "dist");

const OPERATIONS = {
  getAuthUser: "userGetAuthUser",
  getProject: "projectsGetProject",
  getProjectDomains: "projectsGetProjectDomains",
  getDeployment: "deploymentsGetDeployment",
  getDeployments: "deploymentsGetDeployments",
  uploadFile: "deploymentsUploadFile",
  createDeployment: "deploymentsCreateDeployment",
  deleteDeployment: "deploymentsDeleteDeployment",
  requestPromote: "projectsRequestPromote",
  requestRollback: "projectsRequestRollback",
};

// As a JSON schema in which nothing is allowed that is not named.
function schemaOf(type) {
  const found = type._def;
  switch (found.typeName) {
    case "ZodString":
      return { type: "string" };
    case "ZodNumber":
      return { type: "number" };
    case "ZodBoolean":
      return { type: "boolean" };
    case "ZodLiteral":
      return { const: found.value };
    case "ZodNativeEnum":
      return { enum: Object.values(found.values) };
    case "ZodEnum":
      return { enum: found.values };
    case "ZodArray":
      return { type: "array", items: schemaOf(found.type) };
    case "ZodRecord":
      return { type: "object", additionalProperties: schemaOf(found.valueType) };
    case "ZodNullable":
      return { anyOf: [{ type: "null" }, schemaOf(found.innerType)] };
    case "ZodUnion":
      return { anyOf: found.options.map(schemaOf) };
    case "ZodOptional":
    case "ZodDefault":
      return schemaOf(found.innerType);
    case "ZodLazy":
      return schemaOf(found.getter());
    case "ZodEffects":
      return schemaOf(found.schema);
    case "ZodPipeline":
      return schemaOf(found.in);
    case "ZodObject":
      return objectOf(type.shape);
    default:
      return {};
  }
}

function objectOf(shape) {
  const names = Object.keys(shape);
  const required = names.filter((name) => !shape[name].isOptional());
  const properties = Object.fromEntries(names.map((name) => [name, schemaOf(shape[name])]));
  return { type: "object", properties, required, additionalProperties: false };
}

async function operation(name) {
  const text = readFileSync(join(sdk, "funcs", `${name}.js`), "utf8");
  const [, path] = text.match(/pathToFunc\("([^"]+)"\)/);
  const [, method] = text.match(/method: "([A-Z]+)"/);
  const query = names(text, /encodeFormQuery\(\{([\s\S]*?)\}\)/, /"([\w-]+)": payload/g);
  const headers = names(text, /new Headers\(compactMap\(\{([\s\S]*?)\}\)\)/, /^ {8}"?([\w-]+)"?: /gm).map((one) => one.toLowerCase());
  const schema = await asked(text);
  const properties = schema?.properties ?? {};
  return {
    method,
    path,
    query: Object.fromEntries(query.map((one) => [one, properties[one] ?? {}])),
    headers,
    body: /encodeJSON\("body"/.test(text) ? properties.requestBody : null,
  };
}

function names(text, part, each) {
  const found = text.match(part);
  return found ? [...found[1].matchAll(each)].map(([, name]) => name) : [];
}

async function asked(text) {
  const found = text.match(/import \{([^}]*?(\w+Request\$outboundSchema)[^}]*)\} from "([^"]+)"/);
  if (!found) return undefined;
  const module = await import(pathToFileURL(join(sdk, "funcs", found[3])).href);
  return schemaOf(module[found[2]]);
}

// Both forms of a file stand behind a union that does not tell what it is of.
async function filesOf() {
  const text = readFileSync(join(sdk, "funcs", `${OPERATIONS.createDeployment}.js`), "utf8");
  const [, from] = text.match(/CreateDeploymentRequest\$outboundSchema[^}]*\} from "([^"]+)"/);
  const module = await import(pathToFileURL(join(sdk, "funcs", from)).href);
  return ["InlinedFile", "UploadedFile"].map((name) => schemaOf(module[`${name}$outboundSchema`]));
}

const KINDS = { string: { type: "string" }, boolean: { type: "boolean" }, number: { type: "number" }, "string[]": { type: "array", items: { type: "string" } } };
KINDS["Dictionary<string>"] = { type: "object", additionalProperties: KINDS.string };
KINDS.Env = KINDS["Dictionary<string>"];
KINDS.MaxDuration = { type: ["number", "string"] };
KINDS.LambdaArchitecture = { enum: ["x86_64", "arm64"] };

// The members of an interface that TypeScript declares.
function declared(file, name) {
  const text = readFileSync(file, "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
  const [, body] = text.match(new RegExp(`interface ${name}[^{]*\\{([\\s\\S]*?)\\n\\}`));
  return Object.fromEntries([...body.matchAll(/^ {4}(\w+)\??: ([^;{]+)/gm)].map(([, member, kind]) => [member, KINDS[kind.trim()] ?? {}]));
}

function sentByClient() {
  const { generateQueryString } = require(join(client, "utils", "query-string.js"));
  const { prepareFiles } = require(join(client, "utils", "index.js"));
  const query = new URLSearchParams(generateQueryString({ prebuilt: true, withCache: true, force: true, skipAutoDetectionConfirmation: true }));
  const file = new Map([["sha", { names: ["/a/b"], size: 1, mode: 33188 }]]);
  const [row] = prepareFiles(file, { isDirectory: true, path: "/a" });
  return { query: [...query.keys()], file: Object.keys(row), body: declared(join(client, "types.d.ts"), "DeploymentOptions") };
}

const operations = {};
for (const [name, file] of Object.entries(OPERATIONS)) operations[name] = await operation(file);
const sent = sentByClient();
const { body, query } = operations.createDeployment;
for (const one of sent.query) query[one] ??= {};
const files = await filesOf();
for (const one of sent.file) for (const form of files) form.properties[one] ??= {};
body.properties = { ...sent.body, ...body.properties, files: { type: "array", items: { anyOf: files } } };
const func = {
  ...declared(join(utils, "lambda.d.ts"), "LambdaOptionsBase"),
  ...declared(join(utils, "nodejs-lambda.d.ts"), "NodejsLambdaOptions"),
  launcherType: { const: "Nodejs" },
};
const { routesSchema } = require("@vercel/routing-utils");
console.log(JSON.stringify({ operations, routes: routesSchema, function: func }, null, 1));
