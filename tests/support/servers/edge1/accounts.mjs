// What each account has. One test has one account: nobody meets what another has made.
import crypto from "node:crypto";

const accounts = new Map();

export const hex = () => crypto.randomBytes(16).toString("hex");
export const now = () => new Date().toISOString();

export function accountOf(id) {
  if (!/^acc[0-9a-f]+$/.test(id)) return null;
  if (!accounts.has(id)) accounts.set(id, opened(id));
  return accounts.get(id);
}

export function accountOfZone(id) {
  return accounts.get(id.replace(/^zone-/, "")) ?? null;
}

function opened(id) {
  return { id, token: `tok-${id}`, scripts: new Map(), routes: new Map(), monitors: new Map(), pools: new Map(), balancers: new Map(), records: new Map(), namespaces: new Map(), buckets: new Map(), databases: new Map(), queues: new Map(), assets: { files: new Map(), sessions: new Map() }, world: null, subdomain: "probe", events: [], tails: new Map(), calls: [], faults: [], uploads: [], rate: null };
}

export function close(account) {
  accounts.delete(account.id);
}

export function left(account) {
  const found = {
    workers: [...account.scripts.keys()].sort(),
    routes: [...account.routes.values()].map((one) => one.pattern).sort(),
    namespaces: [...account.namespaces.values()].map((one) => one.title).sort(),
    buckets: [...account.buckets.values()].map((one) => one.name).sort(),
    databases: [...account.databases.values()].map((one) => one.name).sort(),
    queues: [...account.queues.values()].map((one) => one.queue_name).sort(),
    consumers: [...account.queues.values()].flatMap((one) => one.consumers.map((reader) => `${one.queue_name}: ${reader.script_name}`)).sort(),
  };
  return Object.fromEntries(Object.entries(found).filter(([, names]) => names.length));
}
