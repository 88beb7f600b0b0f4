// host1's own client and SDK do what a deploy, a release and a removal do: see
// test_official_client.py. The SDK reads each answer by the description that it is made of.
//
//   HOST1_PACKAGES=<folder of node_modules>/x.js node official.mjs < what to do
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.HOST1_PACKAGES);
const { Vercel } = await import(pathToFileURL(require.resolve("@vercel/sdk")).href);
const { createDeployment } = require("@vercel/client");
const { url, token, team, project, name, domain, folder } = JSON.parse(readFileSync(0, "utf8"));
const sdk = new Vercel({ bearerToken: token, serverURL: url });
const teamId = team;

await sdk.user.getAuthUser();
await sdk.projects.getProject({ idOrName: project, teamId });
await sdk.projects.getProjectDomains({ idOrName: project, production: "true", redirects: "false", limit: 100, order: "ASC", teamId });
const ids = [];
for (const word of ["one", "two"]) ids.push(await deployed(word));
for (const id of ids) await sdk.projects.requestPromote({ projectId: project, deploymentId: id, teamId });
await sdk.projects.requestRollback({ projectId: project, deploymentId: ids[0], teamId });
await sdk.deployments.deleteDeployment({ id: ids[1], teamId });
const shown = await sdk.deployments.getDeployment({ idOrUrl: domain, teamId });
const listed = await sdk.deployments.getDeployments({ projectId: project, target: "production", limit: 100, teamId });
const [row] = listed.deployments;
console.log(JSON.stringify({ ids, shown: shown.id, state: shown.readyState, listed: listed.deployments.length, substate: row.readySubstate, meta: row.meta }));

async function deployed(word) {
  const client = { token, teamId: team, apiUrl: url, path: folder, prebuilt: true, vercelOutputDir: `${folder}/.vercel/output`, force: true, skipAutoDetectionConfirmation: true };
  const wanted = { name, project, target: "production", autoAssignCustomDomains: false, meta: { word }, env: { WORD: word }, projectSettings: { rootDirectory: null } };
  let found;
  for await (const event of createDeployment(client, wanted)) {
    if (event.type === "error") throw new Error(JSON.stringify(event.payload));
    if (event.type === "created") found = event.payload.id;
    if (event.type === "ready") return found;
  }
  return found;
}
