// The official client does what a deploy, a release and a removal do: see test_official_client.py.
//
//   HOST2_PACKAGES=<folder of node_modules>/x.js node official.mjs < what to do
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { NetlifyAPI } = await import(pathToFileURL(createRequire(process.env.HOST2_PACKAGES).resolve("@netlify/api")).href);
const { host, token, site, title, name, runtime, file, document } = JSON.parse(readFileSync(0, "utf8"));
const api = new NetlifyAPI(token, { scheme: "http", host, pathPrefix: "/api/v1" });

await api.getCurrentUser();
await api.getSite({ site_id: site });
await api.listSiteDeploys({ site_id: site, page: 1, per_page: 100 });
const deploy = await api.createSiteDeploy({ site_id: site, title, body: document });
const content = readFileSync(file);
await api.uploadDeployFunction({ deploy_id: deploy.id, name, runtime, size: content.length, body: content });
const ready = await api.getSiteDeploy({ site_id: site, deploy_id: deploy.id });
await api.restoreSiteDeploy({ site_id: site, deploy_id: deploy.id });
const gone = await api.createSiteDeploy({ site_id: site, title: "gone", body: { files: {}, draft: true } });
await api.deleteDeploy({ deploy_id: gone.id });
console.log(JSON.stringify({ id: deploy.id, state: ready.state, required: deploy.required_functions }));
