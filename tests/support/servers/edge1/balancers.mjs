// Load balancing: monitors and pools of an account, balancers of its zone.
import { hex } from "./accounts.mjs";
import { no } from "./refusals.mjs";
import { ZONE_NAME } from "./zones.mjs";

const POLICIES = ["", "off", "geo", "random", "dynamic_latency", "proximity", "least_outstanding_requests", "least_connections"];
const isShare = (weight) => weight === undefined || (weight >= 0 && weight <= 1);
// Two decimals are kept of a weight.
const rounded = (weight) => (weight === undefined ? 1 : Math.round(weight * 100) / 100);

function monitor(account, asked) {
  if (!["http", "https", "tcp"].includes(asked.type ?? "http")) no(400, 1002, "type is not valid");
  if ((asked.interval ?? 60) < 60) no(400, 1002, "interval is too low for this plan");
  return { type: "http", interval: 60, path: "/", ...asked };
}

function pool(account, asked, own) {
  if (!/^[A-Za-z0-9_-]+$/.test(asked.name ?? "")) no(400, 1002, "name is not valid");
  if (!asked.origins?.length) no(400, 1002, "origins are missing");
  if (asked.monitor && !account.monitors.has(asked.monitor)) no(400, 1002, "monitor does not exist");
  for (const origin of asked.origins) if (!origin.address || !isShare(origin.weight)) no(400, 1002, "origin is not valid");
  if (named(account.pools, asked.name, own)) no(400, 1003, "name is taken");
  const origins = asked.origins.map((one) => ({ enabled: true, ...one, weight: rounded(one.weight) }));
  return { enabled: true, monitor: "", ...asked, origins };
}

function balancer(account, asked, own) {
  if (!(asked.name ?? "").endsWith(`.${ZONE_NAME}`)) no(400, 1002, "name is not in this zone");
  for (const id of [...(asked.default_pools ?? []), asked.fallback_pool]) if (!account.pools.has(id)) no(400, 1002, `pool ${id} does not exist`);
  if (!POLICIES.includes(asked.steering_policy ?? "")) no(400, 1002, "steering_policy is not valid");
  if (named(account.balancers, asked.name, own)) no(400, 1003, "name is taken");
  return { enabled: true, proxied: false, ...asked };
}

const named = (rows, name, own) => [...rows.values()].some((one) => one.id !== own && one.name === name);

function kept(path, name, checked) {
  const there = ({ account, names }) => account[name].get(names.id) ?? no(404, 1001, "not found");
  const put = ({ account, json }, id) => {
    account[name].set(id, { ...checked(account, json(), id), id });
    return account[name].get(id);
  };
  const listed = ({ account, query }) => [...account[name].values()].filter((one) => !query.get("name") || one.name === query.get("name"));
  return [
    ["GET", path, listed],
    ["POST", path, (call) => put(call, hex())],
    ["GET", `${path}/:id`, there],
    ["PUT", `${path}/:id`, (call) => put(call, there(call).id)],
    ["DELETE", `${path}/:id`, (call) => call.account[name].delete(there(call).id) && { id: call.names.id }],
  ];
}

export const balancerCalls = [
  ...kept("/accounts/:account/load_balancers/monitors", "monitors", monitor),
  ...kept("/accounts/:account/load_balancers/pools", "pools", pool),
  ...kept("/zones/:zone/load_balancers", "balancers", balancer),
];
