// cloud4's own SDK does what a deploy, a release, a call and a removal do: see test_official_client.py.
//
//   CLOUD4_PACKAGES=<folder of node_modules>/x.js node official.mjs < what to do
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.env.CLOUD4_PACKAGES);
const sdk = require("@alicloud/fc20230330");
const { $OpenApiUtil } = require("@alicloud/openapi-core");
const { Readable } = require("node:stream");
const { endpoint, key, secret, region, code, name } = JSON.parse(readFileSync(0, "utf8"));
const config = new $OpenApiUtil.Config({ accessKeyId: key, accessKeySecret: secret, regionId: region, endpoint, protocol: "http" });
const client = new sdk.default(config);
const asked = (kind, values) => new sdk[`${kind}Request`](values);
const told = (kind, input, values) => asked(kind, { body: new sdk[input](values) });

const tags = [new sdk.Tag({ key: "team", value: "shop" })];
const settings = {
  description: "by the client",
  runtime: "nodejs20",
  handler: "index.handler",
  code: new sdk.InputCodeLocation({ zipFile: code }),
  environmentVariables: { MODE: "dark" },
  memorySize: 512,
  cpu: 0.25,
  diskSize: 512,
  timeout: 3,
  instanceConcurrency: 1,
};
const route = JSON.stringify({ authType: "anonymous", methods: ["GET"], disableURLInternet: false });
const clock = JSON.stringify({ cronExpression: "@every 5m", enable: true, payload: "{}" });

await client.listFunctions(asked("ListFunctions", { limit: 1 }));
const made = await client.createFunction(told("CreateFunction", "CreateFunctionInput", { functionName: name, ...settings, tags }));
await client.updateFunction(name, told("UpdateFunction", "UpdateFunctionInput", { ...settings, role: "" }));
await client.getFunction(name, asked("GetFunction", {}));
const arn = made.body.functionArn;
await client.tagResources(told("TagResources", "TagResourcesInput", { resourceId: [arn], resourceType: "function", tag: tags }));
await client.untagResources(asked("UntagResources", { resourceId: [arn], resourceType: "function", tagKey: ["team"] }));
await client.putConcurrencyConfig(name, told("PutConcurrencyConfig", "PutConcurrencyInput", { reservedConcurrency: 5 }));
await client.getConcurrencyConfig(name);
await client.deleteConcurrencyConfig(name);
const versions = [];
for (const word of ["one", "two"]) {
  const found = await client.publishFunctionVersion(name, told("PublishFunctionVersion", "PublishVersionInput", { description: word }));
  versions.push(found.body.versionId);
}
const listed = await client.listFunctionVersions(name, asked("ListFunctionVersions", { limit: 100 }));
await client.createAlias(name, told("CreateAlias", "CreateAliasInput", { aliasName: "live", versionId: versions[0] }));
await client.updateAlias(name, "live", told("UpdateAlias", "UpdateAliasInput", { versionId: versions[1], additionalVersionWeight: {} }));
const alias = await client.getAlias(name, "live");
await client.listAliases(name, asked("ListAliases", { limit: 100 }));
const trigger = (triggerName, triggerType, triggerConfig) => client.createTrigger(name, told("CreateTrigger", "CreateTriggerInput", { triggerName, triggerType, triggerConfig, qualifier: "live" }));
await trigger("route", "http", route);
await trigger("clock", "timer", clock);
await client.updateTrigger(name, "clock", told("UpdateTrigger", "UpdateTriggerInput", { triggerConfig: clock, qualifier: "live" }));
const met = await client.getTrigger(name, "route");
await client.listTriggers(name, asked("ListTriggers", { limit: 100 }));
const answer = await fetch(`${met.body.httpTrigger.urlInternet}/there`);
const headers = new sdk.InvokeFunctionHeaders({ xFcInvocationType: "Sync", xFcLogType: "Tail" });
const call = asked("InvokeFunction", { qualifier: "live", body: Readable.from([Buffer.from('{"given":1}')]) });
const called = await client.invokeFunctionWithOptions(name, call, headers, {});
const chunks = [];
for await (const chunk of called.body) chunks.push(chunk);
for (const one of ["route", "clock"]) await client.deleteTrigger(name, one);
await client.deleteAlias(name, "live");
for (const one of versions) await client.deleteFunctionVersion(name, one);
await client.deleteFunction(name);
const gone = await client.getFunction(name, asked("GetFunction", {})).catch((error) => error.code);
console.log(JSON.stringify({ arn, versions, described: listed.body.versions.map((one) => one.description), alias: alias.body.versionId, answer: await answer.text(), called: Buffer.concat(chunks.map((one) => Buffer.from(one))).toString(), gone }));
