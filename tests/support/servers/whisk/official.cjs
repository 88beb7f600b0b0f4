// The official client does what a deploy, a release and a removal do: see test_official_client.py.
//
//   WHISK_CLIENT=<folder of node_modules> node official.cjs < what to do
const { readFileSync } = require("node:fs");

const openwhisk = require(`${process.env.WHISK_CLIENT}/openwhisk`);
const { host, key, space, file, payload } = JSON.parse(readFileSync(0, "utf8"));
const whisk = openwhisk({ apihost: host, api_key: key, namespace: space });
const feed = "/whisk.system/alarms/alarm";

(async () => {
  await whisk.packages.update({ name: "theirs" });
  await whisk.actions.update({ name: "theirs/hello--1", action: readFileSync(file), kind: "nodejs:20", limits: { timeout: 3000 }, params: { MODE: "dark" }, annotations: { "fabric-mark": "m" } });
  const action = { exec: { kind: "sequence", components: [`/${space}/theirs/hello--1`] }, annotations: [{ key: "web-export", value: true }, { key: "raw-http", value: true }, { key: "web-custom-options", value: false }] };
  await whisk.actions.update({ name: "theirs/hello", action });
  await whisk.packages.get({ name: "theirs" });
  const called = await whisk.actions.invoke({ name: "theirs/hello", blocking: true, params: { given: 1 } });
  const begun = await whisk.actions.invoke({ name: "theirs/hello", params: { given: 2 } });
  await whisk.activations.get({ name: begun.activationId });
  await whisk.triggers.update({ name: "tick" });
  await whisk.rules.update({ name: "tick", trigger: `/${space}/tick`, action: `/${space}/theirs/hello` });
  await whisk.feeds.create({ name: feed, trigger: "tick", params: { cron: "0 * * * *", trigger_payload: payload } });
  const triggers = await whisk.triggers.list({ limit: 200 });
  await whisk.feeds.delete({ name: feed, trigger: "tick" });
  await whisk.rules.delete({ name: "tick" });
  await whisk.triggers.delete({ name: "tick" });
  console.log(JSON.stringify({ result: called.response.result, triggers: triggers.length }));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
